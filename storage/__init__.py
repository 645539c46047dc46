"""Layers on disk: LMDB, block codec, checksums, manifest, locks, recovery. Knows nothing of moves."""
