"""Commands on puzzles and single configurations, for which no run is needed."""
