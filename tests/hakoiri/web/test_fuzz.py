"""Requests of any kind: none finds a status of 500, none kills the server."""

import shutil
from pathlib import Path

import pytest

from hakoiri.web.settings import Settings
from tests.hakoiri.web.conftest import Served
from tests.support.web import TOKEN, client_of
from tests.support.web_requests import METHODS, fuzz


def test_some_questions_of_any_kind(served: Served) -> None:
    """They change nothing."""
    names = [served.small, served.whole, served.directed]
    before = {*served.data.iterdir()}
    assert fuzz(served.client, names, 100, ("get", "head")).total() == 100
    assert {*served.data.iterdir()} == before


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_ten_thousand_requests_of_any_kind(served: Served, tmp_path: Path) -> None:
    # They may change the runs.
    shutil.copytree(served.data, tmp_path / "data")
    with client_of(Settings(tmp_path / "data", token=TOKEN)) as client:
        assert fuzz(client, [served.small, served.whole, served.directed], 10_000, METHODS).total() == 10_000
        assert client.get("/api/runs").status_code == 200
