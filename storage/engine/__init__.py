"""LMDB: the environment of a run, its mapped pages, the probe of its file."""

__all__ = ["environment", "pages", "probe"]
