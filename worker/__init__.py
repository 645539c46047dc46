"""What is done to one chunk: expand, sort, unique and merge kernels, graph searches, and the RQ worker around them."""
