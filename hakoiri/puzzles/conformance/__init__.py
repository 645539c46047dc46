"""The promises of `puzzles.contract`, each as a check that can refuse a puzzle: of the registry, or of a user."""
