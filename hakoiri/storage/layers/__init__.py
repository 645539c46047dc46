"""Layers of keys on disk: coded blocks, readers, digests, spill files, the audit."""
