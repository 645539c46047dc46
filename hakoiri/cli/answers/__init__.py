"""Commands that query a run: layers, distances, paths, components, exports."""
