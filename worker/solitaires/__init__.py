"""Deals solved, counted and hunted for in memory."""

__all__ = ["counting_kernels", "hunting", "hunting_kernels", "shortening", "solving", "solving_kernels"]
