"""GET begins nothing: what starts a process or queues a run is a POST."""

import pytest

from hakoiri.web.routes import answers
from hakoiri.web.runs.questions import Question, Questions
from tests.hakoiri.web.conftest import Served

_LONG = [
    "{whole}/export.csv",
    "{whole}/map?dim=2",
    "{small}/components",
    "{small}/components/0",
    "{small}/components/0/diameter",
    "{small}/components/0/diameter?all=true",
    "{directed}/components/strong?limit=3",
    "{small}/path?to=goal&from=1.2/345",
    "{small}/distance?to=farthest&from=1.2/345",
    "{small}/statistics",
]


@pytest.mark.parametrize("path", _LONG)
def test_get_says_where_to_post_to(served: Served, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run is a large one here."""
    monkeypatch.setattr(answers, "RUN_FROM", 0)
    monkeypatch.setattr(answers.is_long, "__defaults__", (True, 0))
    monkeypatch.setattr(answers, "SMALL", 0)
    begun: list[Question] = []
    monkeypatch.setattr(Questions, "_begin", lambda _, question: begun.append(question))
    where = f"/api/runs/{path.format(small=served.small, whole=served.whole, directed=served.directed)}"
    for _ in range(2):
        refused = served.client.get(where)
        assert (refused.status_code, refused.json()["type"]) == (409, "urn:hakoiri:not-computed")
        (hint,) = refused.json()["hints"]
        assert (hint["method"], hint["href"]) == ("POST", where)
    assert not begun
    served.client.post(hint["href"])
    assert len(begun) == 1


def test_get_queues_no_run(served: Served) -> None:
    """Goal distances of a run are another run."""
    before = {*served.data.iterdir()}
    refused = served.client.get(f"/api/runs/{served.small}/hardest")
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:hakoiri:not-computed")
    assert {*served.data.iterdir()} == before
