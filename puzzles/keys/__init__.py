"""Packed configurations as arrays of keys: layouts, order, bits, numberings, and chance."""

__all__ = ["bits", "layout", "numbering", "order", "permutations", "splitmix", "splitmix_kernels"]
