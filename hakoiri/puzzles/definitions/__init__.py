"""Puzzles that a definition describes: files of other programs, or lists of permutations. Data, never code."""
