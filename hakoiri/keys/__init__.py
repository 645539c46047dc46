"""Packed configurations: their layouts, order and digests of random bits."""
