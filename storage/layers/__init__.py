"""Layers of keys on disk: blocks, their code, digests, spilled buckets, the audit."""

__all__ = ["audit", "blocks", "codec", "digest", "scratch", "spill", "store"]
