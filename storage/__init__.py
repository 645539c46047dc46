"""Layers on disk: LMDB, block codec, checksums, manifest, locks, recovery. Knows nothing of moves."""

__all__ = [
    "engine",
    "errors",
    "layers",
    "ledger",
    "names",
    "results",
]
