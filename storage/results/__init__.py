"""What searches other than by layers leave: components, subtrees, findings."""

__all__ = ["census", "checkpoint", "findings", "subtrees"]
