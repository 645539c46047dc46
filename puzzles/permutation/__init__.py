"""Puzzles whose configurations are permutations: tiles, pancakes, TopSpin."""

__all__ = ["pancakes", "pancakes_kernels", "tiles", "tiles_kernels", "topspin"]
