"""Whole spaces listed and labelled by passes over their ranges, at home or in the ranges of a host."""
