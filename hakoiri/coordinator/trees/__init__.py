"""The search of trees of placements."""
