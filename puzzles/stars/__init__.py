"""Magic stars: figures, orders of their points, kernels."""

__all__ = ["drawing", "figure", "kernels", "magic_star", "orders"]
