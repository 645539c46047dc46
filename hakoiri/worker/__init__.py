"""The work on one chunk: kernels to expand, sort and merge, searches of graphs, and the RQ worker that runs them."""
