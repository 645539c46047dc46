"""Puzzles: packed keys, moves, goals, text in and out. Independent of search."""
