"""Blocks slid on a board: Hakoiri-musume, and any board."""

__all__ = ["boards", "klotski", "klotski_kernels", "sliding", "sliding_kernels"]
