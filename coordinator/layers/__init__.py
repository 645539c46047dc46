"""The search by layers, its step, and the questions that layers answer."""
