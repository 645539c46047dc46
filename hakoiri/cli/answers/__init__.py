"""Commands that ask a run: layers, distances, paths, components, exports."""
