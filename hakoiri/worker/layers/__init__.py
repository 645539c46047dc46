"""The work on a chunk of a layer: expand, merge, divide by key range."""
