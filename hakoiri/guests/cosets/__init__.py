"""The positions of a group that is too large to list, coset by coset."""
