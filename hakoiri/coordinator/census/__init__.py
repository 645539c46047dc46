"""The census of a whole space: every configuration, its component, and each component's distances."""
