"""Nakuron: coloured balls tilted out of a box."""

__all__ = ["board", "ground", "kernels", "puzzle"]
