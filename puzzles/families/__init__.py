"""Families of puzzles: which members there are."""
