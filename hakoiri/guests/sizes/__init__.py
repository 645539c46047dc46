"""A puzzle explored size by size."""
