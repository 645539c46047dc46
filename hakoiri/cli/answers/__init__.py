"""Commands that ask a run: layers, distances, paths, components, exports."""

__all__ = ["asking", "components"]
