"""Results of runs besides their layers: components, subtrees, rows, arrays."""
