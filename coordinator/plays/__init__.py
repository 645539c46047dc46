"""Good plays of large boards of Nakuron."""

__all__ = ["beam", "job", "optimise", "plan"]
