"""The search of trees of placings."""

__all__ = ["check", "estimate", "repair", "search", "solutions"]
