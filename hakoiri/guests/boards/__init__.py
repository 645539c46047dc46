"""Sliding blocks for designers: all boards of some pieces, boards of a given difficulty, figures, sheets to print."""
