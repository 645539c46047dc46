"""Families of puzzles: the enumeration of their members, and the known ones."""
