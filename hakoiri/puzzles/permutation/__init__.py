"""Puzzles whose configurations are permutations: tiles, pancakes, TopSpin."""
