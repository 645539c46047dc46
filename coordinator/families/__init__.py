"""Studies of families: all boards of some pieces."""
