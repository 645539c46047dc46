"""What a configuration is: packed keys, moves, goals, text in and out. Knows nothing of search."""

__all__ = ["boards", "contract", "errors", "jit", "keys", "klotski", "klotski_kernels", "registry", "symmetry"]
