"""Deals of any puzzle: what is asked of a solver and of a walk, and both by the puzzle's moves alone."""
