"""The ledger of a run: manifest, state, small records, the lock."""
