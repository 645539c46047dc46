"""Where chunks are computed: by threads of this process, or by RQ workers."""
