"""Layers of keys on disk: blocks, their code, digests, spilled buckets, the audit."""
