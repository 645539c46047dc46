"""Requests of any kind: none finds a status of 500, none kills the server."""

from tests.hakoiri.web.conftest import Served
from tests.support.web_requests import fuzz


def test_some_questions_of_any_kind(served: Served) -> None:
    """They change nothing."""
    names = [served.small, served.whole, served.directed]
    before = {*served.data.iterdir()}
    assert fuzz(served.client, names, 100, ("get", "head")).total() == 100
    assert {*served.data.iterdir()} == before
