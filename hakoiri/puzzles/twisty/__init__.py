"""Puzzles that are twisted: the 2x2x2 cube, the Pyraminx."""
