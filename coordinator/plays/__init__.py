"""Good plays of large boards of Nakuron."""

__all__ = ["beam", "optimise", "optimise_plan"]
