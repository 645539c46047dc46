"""Blocks slid on a board: Hakoiri-musume, and any board."""
