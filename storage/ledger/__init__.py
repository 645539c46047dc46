"""The books of a run: manifest, state, small records, the lock."""

__all__ = ["ledger", "lock", "manifest", "records"]
