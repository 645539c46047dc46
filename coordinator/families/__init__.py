"""Studies of families: all boards of some pieces, and a puzzle of one size after another."""
