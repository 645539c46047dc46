"""The search of trees of placings."""

__all__ = ["estimate", "job", "repair", "search", "solutions", "verify"]
