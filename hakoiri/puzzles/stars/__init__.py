"""Magic stars: figures, orders of their points, kernels."""
