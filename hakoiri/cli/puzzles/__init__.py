"""Commands on puzzles and single configurations, which need no run."""
