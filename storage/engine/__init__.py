"""LMDB: the environment of a run, its pages, read with care."""

__all__ = ["environment", "pages"]
