"""What searches other than by layers leave: components, subtrees, rows, arrays."""

__all__ = ["arrays", "census", "rows", "subtrees"]
