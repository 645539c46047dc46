"""Blocks slid on a board: Hakoiri-musume, and any board."""

__all__ = [
    "boards",
    "goals",
    "klotski",
    "klotski_kernels",
    "listing_kernels",
    "mirrors",
    "pieces",
    "sequence_kernels",
    "sequences",
    "sliding",
    "sliding_kernels",
    "tables",
]
