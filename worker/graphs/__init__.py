"""Searches of graphs in memory: distances, components, bounds."""

__all__ = ["components", "searches", "strong"]
