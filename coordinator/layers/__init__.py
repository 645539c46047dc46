"""The search by layers, its step, and the questions that layers answer."""

__all__ = [
    "best_play", "buckets", "closed_set", "inspection", "job", "paths", "reference", "repair", "search", "step",
    "verify", "window",
]  # fmt: skip
