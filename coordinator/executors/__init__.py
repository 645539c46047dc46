"""Who works on chunks: threads of this process, or RQ workers."""

__all__ = ["opening", "remote", "threads"]
