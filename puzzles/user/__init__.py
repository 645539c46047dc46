"""User puzzles: files found again by digest, and classes under guard."""
