"""Packed configurations as arrays of keys: layouts, order, bits, numberings, and chance."""
