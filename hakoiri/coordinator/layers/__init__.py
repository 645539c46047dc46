"""The search by layers, and the answers from layers."""
