"""The search by layers, and the questions that layers answer."""
