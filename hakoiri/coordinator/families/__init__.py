"""Studies of families: all boards with given pieces, and a puzzle of one size after another."""
