"""What searches other than by layers leave: components, subtrees, rows, arrays."""
