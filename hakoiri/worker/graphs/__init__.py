"""Searches of graphs in memory: distances, components, bounds."""
