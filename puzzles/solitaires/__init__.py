"""Solitaires of Gap's kind: cards, deals, moves."""

__all__ = ["cards", "gap", "kernels", "placing", "solitaire", "superpuzz"]
