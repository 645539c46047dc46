"""Runs and their life, and the kinds of work: layers, graphs, trees, solitaires, Nakuron."""

__all__ = ["deals", "errors", "executors", "graphs", "layers", "plays", "runs", "session", "trees"]
