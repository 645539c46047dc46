"""The components of a whole space: its configurations by slabs, trees by range, and their union."""
