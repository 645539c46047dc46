"""Deals of any puzzle: a solver and a walk that need only the puzzle's moves, with their requests and results."""
