"""User puzzles: files found again by digest, classes under guard, and sources read but not executed."""
