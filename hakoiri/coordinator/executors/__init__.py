"""Executors of chunks in other processes: which are lost and sent again, and the ways to RQ workers."""
