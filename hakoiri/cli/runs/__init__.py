"""Commands that create, drive, list, verify and delete runs, and the service."""
