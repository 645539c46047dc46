"""Layers on disk: LMDB, block codec, checksums, manifest, locks, recovery. Knows nothing of moves."""

__all__ = [
    "blocks",
    "census",
    "check",
    "codec",
    "digest",
    "environment",
    "errors",
    "harvest",
    "layout",
    "ledger",
    "lock",
    "manifest",
    "pages",
    "probe",
    "records",
    "spill",
    "store",
]
