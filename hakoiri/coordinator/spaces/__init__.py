"""Whole spaces listed and labelled on disk, by passes over their blocks: never all moves in one process."""
