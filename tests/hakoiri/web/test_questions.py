"""Long questions, by the files that they leave."""

import fcntl
import json
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hakoiri.questions.question import Long, Question
from hakoiri.storage.ledger.manifest import State
from hakoiri.web.routes.puzzles import PROBING
from hakoiri.web.runs import questions
from hakoiri.web.runs.questions import BusyError, LongQuestion, Questions
from hakoiri.web.settings import Settings
from tests.hakoiri.web.conftest import Served
from tests.support.commands import wait_until
from tests.support.web import TOKEN, client_of

VERIFY, IDENTITY = Long("verify", {}), "0" * 64


@pytest.fixture
def question(tmp_path: Path) -> LongQuestion:
    asked = LongQuestion(tmp_path, "run", "0123")
    (tmp_path / asked.folder).mkdir(parents=True)
    (tmp_path / asked.holder).write_text(json.dumps({"words": ["diameter"], "pid": 1}), encoding="utf-8")
    return asked


@contextmanager
def worked_on(question: LongQuestion) -> Iterator[None]:
    with open(question.data / question.holder, "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def leave(question: LongQuestion, answer: str, said: str) -> None:
    (question.data / question.folder / "answer").write_text(answer, encoding="utf-8")
    (question.data / question.folder / "said").write_text(said, encoding="utf-8")


def test_how_a_question_stands(question: LongQuestion) -> None:
    with worked_on(question):
        leave(question, '{"diam', "layer 3\nthe diameter is in [3, 9], 0:00:10\n")
        row = question.row()
        assert (row["status"], row["answer"], row["headline"]) == (
            "running",
            None,
            "the diameter is in [3, 9], 0:00:10",
        )
    assert question.row()["reason"] == "it was stopped"
    leave(question, "", "interrupted: stopped by SIGINT")
    row = question.row()
    assert (row["status"], row["answer"]) == ("failed", None)
    assert question.has_to_begin, "it goes on when it is asked again"
    leave(question, "", "layer 3\nhakoiri: it needs 9 bytes; set --memory 9MB\n")
    assert question.row()["reason"] == "it needs 9 bytes; set --memory 9MB"
    assert not question.has_to_begin
    leave(question, '{"diameter": 7}', "")
    assert (question.row()["status"], question.row()["answer"]) == ("answered", {"diameter": 7})


def test_some_at_a_time(tmp_path: Path) -> None:
    asked = Questions(Settings(tmp_path, questions=0, turn_seconds=0))
    with pytest.raises(BusyError, match="ask again later"):
        asked.begin(asked.named("run", IDENTITY, State(), VERIFY))
    assert not (tmp_path / ".questions").exists()


@pytest.mark.parametrize(("memory", "most", "share"), [(400 << 20, 2, "200MB"), (150 << 20, 1, "150MB")])
def test_some_at_a_time_of_all_processes_which_share_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: int, most: int, share: str
) -> None:
    """Each of three serves the same runs, as a process does; who answers is killed, and another one may."""
    begun: list[tuple[subprocess.Popen[bytes], list[str]]] = []

    def answer(popen: Any, line: list[str], **options: Any) -> subprocess.Popen[bytes]:
        begun.append((popen(["env", "--default-signal=INT", "sleep", "60"], **options), line))
        return begun[-1][0]

    monkeypatch.setattr(subprocess, "Popen", partial(answer, subprocess.Popen))
    serving = [Questions(Settings(tmp_path, memory=memory, processes=3, turn_seconds=0)) for _ in range(3)]
    for number in range(most):
        serving[number].begin(serving[number].named("run", IDENTITY, State(depth=number), VERIFY))
    another = serving[2].named("run", IDENTITY, State(depth=9), VERIFY)
    for one in serving:
        with pytest.raises(BusyError):
            one.begin(another)
    assert [line[line.index("--memory") + 1] for _, line in begun] == [share] * most
    begun[0][0].send_signal(signal.SIGKILL)
    wait_until(lambda: begun[0][0].poll() is not None, what="its end")
    serving[2].begin(another)
    assert another.is_running
    for one in serving:
        one.close()


def test_long_questions_wait_for_their_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first that waits is answered first; when as many wait as may, another is refused; the end ends waiting."""
    started, busy = list[int](), threading.Event()

    def start(_: Questions, question: LongQuestion) -> None:
        if busy.is_set():
            raise BusyError("all places are taken")
        busy.set()
        started.append(int(question.words[0]))

    monkeypatch.setattr(Questions, "start", start)
    monkeypatch.setattr(questions, "_MOST_WAITING", 2)
    asked = Questions(Settings(tmp_path, turn_seconds=60))
    each = [asked.named("run", IDENTITY, State(), Long(str(number), {})) for number in range(4)]
    asked.begin(each[0])
    with ThreadPoolExecutor() as pool:
        waiting = []
        for number in (1, 2):
            waiting.append(pool.submit(asked.begin, each[number]))
            wait_until(lambda: len(asked._waiting) == len(waiting), what="one to wait")
        with pytest.raises(BusyError, match="2 long questions wait already"):
            asked.begin(each[3])
        busy.clear()
        waiting[0].result()
        assert started == [0, 1]
        asked.close()
        with pytest.raises(BusyError, match="ask again later"):
            waiting[1].result()


# GET begins nothing: what starts a process or queues a run is a POST


_LONG = [
    "{whole}/export.csv", "{whole}/map?dim=2", "{small}/components", "{small}/components/0",
    "{small}/components/0/diameter", "{small}/components/0/diameter?all=true", "{directed}/components/strong?limit=3",
    "{small}/path?to=goal&from=1.2/345", "{small}/distance?to=farthest&from=1.2/345", "{small}/statistics",
]  # fmt: skip


@pytest.mark.parametrize("path", _LONG)
def test_get_says_where_to_post_to(served: Served, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run is a large one here."""
    monkeypatch.setattr(Question, "is_long", staticmethod(lambda _, searches=True, small=False: searches))
    begun: list[LongQuestion] = []
    monkeypatch.setattr(Questions, "start", lambda _, question: begun.append(question))
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


# Probes over HTTP: nothing is created, and no more than one takes a core


BOARD = {"puzzle": "sliding", "start": "AABB/AACC/DE../FGHH/FGII", "options": {"goal": "A@4,1"}}


def test_a_board_is_solved_and_nothing_is_created(tmp_path: Path) -> None:
    with client_of(Settings(tmp_path / "data", token=TOKEN, memory=200 << 20)) as client:
        row = client.post("/api/probe", json=BOARD).json()
    assert (row["configurations"], row["exhausted"], row["goal_depth"], row["fits"]) == (1_398, True, 83, True)
    assert row["memory"] == 200 << 20
    assert row["notes"] == []
    assert not (tmp_path / "data").exists()


def test_a_dry_run_says_the_same(served: Served) -> None:
    """But for the time that it took, and what is free by now."""
    row = served.client.post("/api/probe", json=BOARD).json()
    said = served.said("run", "sliding", "--from", str(BOARD["start"]), "--goal", "A@4,1", "--dry-run")
    moving = {"seconds", "free", "memory", "notes"}
    assert {name: row[name] for name in row.keys() - moving} == {name: said[name] for name in said.keys() - moving}
    told = served.command.here("run", "tiles", "-o", "rows=4", "-o", "columns=4", "--dry-run").stdout
    assert "10,461,394,944,000" in told
    assert re.search(r"disk +[\d,.]+ GB, [\d,.]+ GB are free", told)
    assert re.search(r"time +\S", told)
    assert "181,440" in served.command.here("run", "tiles", "--whole", "--dry-run").stdout


def test_what_does_not_fit_is_said(served: Served) -> None:
    wanted = {"puzzle": "tiles", "options": {"rows": "4", "columns": "4"}}
    row = served.client.post("/api/probe", json=wanted).json()
    assert (row["exhausted"], row["fits"], row["expected"]) == (False, False, 10_461_394_944_000)
    assert row["disk"] > row["expected"]
    large = "AB.../CD.../...../...../....."
    row = served.client.post(
        "/api/probe", json={"puzzle": "sliding", "start": large, "options": {"distinct": "all"}}
    ).json()
    assert (row["exhausted"], row["fits"], row["expected"]) == (False, None, None)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"puzzle": "sliding"}, "sliding needs a board"),
        ({"puzzle": "sliding", "start": "A.A"}, "piece A is not connected"),
        ({"puzzle": "magic-star"}, "is a tree"),
        ({}, "there is no puzzle"),
    ],
)
def test_a_bad_wish_is_refused(served: Served, wanted: dict[str, object], said: str) -> None:
    response = served.client.post("/api/probe", json=wanted)
    assert response.status_code in (409, 422)
    assert said in response.json()["detail"]


def test_a_second_probe_waits_and_is_refused_while_the_first_goes_on(served: Served) -> None:
    client = client_of(Settings(served.data, token=TOKEN, probe_seconds=0.01))
    with PROBING:
        response = client.post("/api/probe", json=BOARD)
    assert response.status_code == 503
    assert response.headers["Retry-After"] == "1"
    assert "another probe is in progress" in response.json()["detail"]
    assert client.post("/api/probe", json=BOARD).status_code == 200


def test_an_option_may_be_a_number(served: Served) -> None:
    as_number, as_text, no_number = (
        served.client.post("/api/probe", json={"puzzle": "hanoi", "options": {"discs": value}})
        for value in (2, "2", True)
    )
    assert as_number.json()["configurations"] == as_text.json()["configurations"] == 16
    assert no_number.status_code == 422


def test_a_stranger_computes_nothing(served: Served) -> None:
    assert served.client.post("/api/probe", json=BOARD, headers={"Authorization": "Bearer no"}).status_code == 401
