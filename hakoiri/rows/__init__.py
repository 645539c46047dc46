"""Runs, puzzles and positions as plain values, for the JSON of the command line and of the web."""
