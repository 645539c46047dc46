"""Long questions, by the files that they leave."""

import fcntl
import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hakoiri.storage.ledger.manifest import State
from hakoiri.web.runs import questions
from hakoiri.web.runs.questions import BusyError, Question, Questions
from hakoiri.web.settings import Settings
from tests.support.commands import wait_until


@pytest.fixture
def question(tmp_path: Path) -> Question:
    folder = tmp_path / "run" / "0123"
    folder.mkdir(parents=True)
    (folder / "holder").write_text(json.dumps({"words": ["diameter"], "pid": 1}), encoding="utf-8")
    return Question(folder)


@contextmanager
def worked_on(question: Question) -> Iterator[None]:
    with open(question.folder / "holder", "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def leave(question: Question, answer: str, said: str) -> None:
    (question.folder / "answer").write_text(answer, encoding="utf-8")
    (question.folder / "said").write_text(said, encoding="utf-8")


def test_how_a_question_stands(question: Question) -> None:
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


def test_some_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "_MOST_AT_ONCE", 0)
    asked = Questions(Settings(tmp_path))
    with pytest.raises(BusyError, match="ask again later"):
        asked.begin(asked.named("run", State(), "verify"))
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
    serving = [Questions(Settings(tmp_path, memory=memory, processes=3)) for _ in range(3)]
    for number in range(most):
        serving[number].begin(serving[number].named("run", State(depth=number), "verify"))
    another = serving[2].named("run", State(depth=9), "verify")
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
