"""Executors compute chunks: by threads of this process, or by RQ workers."""
