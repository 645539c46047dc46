"""What is done to a chunk of a layer: expand, merge, cut by key range."""
