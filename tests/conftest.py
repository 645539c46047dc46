"""Fixtures that several folders of tests share."""
