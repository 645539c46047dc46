"""Puzzles that are twisted: the 2x2x2 cube, the Pyraminx."""

__all__ = ["base", "cube2", "pyraminx"]
