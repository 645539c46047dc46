"""Boards of Nakuron tilted, and games of it played."""

__all__ = ["tilting", "tilting_kernels"]
