"""Studies: many deals, boards, sizes or starts, one result after another."""
