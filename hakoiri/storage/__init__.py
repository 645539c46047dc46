"""Layers on disk: LMDB, block codec, checksums, manifest, locks, recovery. Independent of any puzzle's moves."""
