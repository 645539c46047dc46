"""Hints in words: as commands, and as calls of `hakoiri`."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.main import get_command

import hakoiri
from hakoiri.api import Run
from hakoiri.cli.app import app
from hakoiri.errors import Do, HakoiriError, Hint
from hakoiri.hints import WORDS, in_command_line, in_python, noted, worded

RUN = "3f9a2c-klotski"
#: Each hint with its words on the command line, and in Python.
SAID = {
    Hint(*hint): words
    for hint, *words in json.loads(Path(__file__).with_name("hints.json").read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("hint", SAID, ids=" ".join)
def test_a_hint_in_words(hint: Hint) -> None:
    assert [in_command_line(hint), in_python(hint)] == SAID[hint]


def test_every_hint_has_words() -> None:
    assert {hint.do for hint in SAID} == set(WORDS) == set(get_args(Do))


def test_only_commands_and_calls_that_there_are_are_named() -> None:
    commands = set(get_command(app).commands)  # type: ignore[attr-defined]
    named = {
        words.partition("hakoiri ")[2].split(" ")[0].strip("'") for words, _ in SAID.values() if "hakoiri " in words
    }
    calls = {words.partition("(")[0].split(" ")[-1] for _, words in SAID.values() if "(" in words}
    assert named <= commands
    assert all(
        hasattr(Run, call[4:]) if call.startswith("run.") else "=" in call or hasattr(hakoiri, call) for call in calls
    )


def test_a_sentence_and_its_hints() -> None:
    error = HakoiriError("it is full", Hint("lower", "cap"), Hint("raise", "memory"))
    assert worded(error, error.hints) == "it is full; lower --cap; raise --memory"
    assert str(error) == "it is full"


def test_hints_that_were_stored_are_read_again() -> None:
    assert Hint.read([["resume", RUN, ""], ["of a later version", "x", "y"], ["runs"]]) == (
        Hint("resume", RUN),
        Hint("runs"),
    )
    cases: list[Any] = [[["resume", RUN, "", "more"]], [[]], 7, [7]]
    for broken in cases:
        with pytest.raises(TypeError):
            Hint.read(broken)


def test_python_is_given_calls(tmp_path: Path) -> None:
    with pytest.raises(HakoiriError, match=f"^there are no runs in {tmp_path}\n") as refused:
        hakoiri.open_run("last", tmp_path)
    assert refused.value.__notes__ == ["start one with explore('klotski'); choose another with data="]
    with pytest.raises(HakoiriError) as outer, noted(), noted():
        raise HakoiriError("no", Hint("lower", "cap"), Hint("delete", RUN))
    assert outer.value.__notes__ == [f"delete_run({RUN!r}) removes it"]
    with pytest.raises(HakoiriError) as silent, noted():
        raise HakoiriError("no", Hint("lower", "cap"))
    assert not hasattr(silent.value, "__notes__")
