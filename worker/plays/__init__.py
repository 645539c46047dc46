"""Boards of any scored puzzle moved on for a beam, and games: what is asked and answered."""

__all__ = ["met", "moving"]
