"""Fixtures and settings that several folders of tests share."""

import os

import pytest


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are cores: the tests that kill processes wait for much of their time."""
    return len(os.sched_getaffinity(0)) + 1
