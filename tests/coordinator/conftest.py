"""Hosts of this process, for the tests of runs that hosts keep."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.near_hosts import NearHosts, near_hosts


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NearHosts]:
    """Three hosts of two threads, which keep all runs."""
    with near_hosts(tmp_path, monkeypatch) as found:
        yield found
