"""The search of trees of placings."""
