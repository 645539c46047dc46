"""Families of puzzles: the enumeration of their members."""
