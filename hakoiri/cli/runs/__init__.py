"""Commands that make runs, drive, list, prove and delete them, and the service."""
