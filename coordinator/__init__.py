"""Runs and their life, and the kinds of work: layers, graphs, trees, solitaires, Nakuron."""

__all__ = [
    "errors",
    "executors",
    "graphs",
    "layers",
    "nakuron",
    "runs",
    "session",
    "solitaires",
    "trees",
]
