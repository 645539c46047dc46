"""Hints in words: as commands, and as calls of `hakoiri`."""

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
SAID = {
    Hint("resume", RUN): (
        "continue with: hakoiri resume 3f9a2c-klotski",
        "continue with: resume_run('3f9a2c-klotski')",
    ),
    Hint("resume", RUN, "my runs"): (
        "continue with: hakoiri resume 3f9a2c-klotski --data 'my runs'",
        "continue with: resume_run('3f9a2c-klotski', data='my runs')",
    ),
    Hint("repair", RUN): (
        "'hakoiri resume 3f9a2c-klotski --repair' repairs what is damaged",
        "resume_run('3f9a2c-klotski', repair=True) repairs what is damaged",
    ),
    Hint("verify", RUN): (
        "'hakoiri verify 3f9a2c-klotski' lists all faults",
        "verify_run('3f9a2c-klotski') lists all faults",
    ),
    Hint("cancel", RUN): ("stop it with 'hakoiri cancel 3f9a2c-klotski'", ""),
    Hint("collect", RUN): ("copy it to this machine with 'hakoiri collect 3f9a2c-klotski'", ""),
    Hint("drain", "host-a"): ("move its ranges to other hosts with 'hakoiri drain host-a'", ""),
    Hint("delete", RUN): ("'hakoiri delete 3f9a2c-klotski' removes it", "delete_run('3f9a2c-klotski') removes it"),
    Hint("status", RUN): ("see 'hakoiri status 3f9a2c-klotski'", ""),
    Hint("ask", RUN, "diameter"): ("use 'hakoiri diameter 3f9a2c-klotski'", "use run.diameter()"),
    Hint("ask", RUN, "farthest"): ("use 'hakoiri path 3f9a2c-klotski --to farthest'", "use run.path('farthest')"),
    Hint("ask", RUN, "status"): ("use 'hakoiri status 3f9a2c-klotski'", "use run.summary()"),
    Hint("ask", RUN, "strong components"): (
        "use 'hakoiri components 3f9a2c-klotski --strong'",
        "use run.strong_components()",
    ),
    Hint("give", "memory", "12MB"): ("set --memory 12MB", "set resources=Resources(memory=)"),
    Hint("give", "option", "solutions=keep"): ("set -o solutions=keep", "set options="),
    Hint("change", "data"): ("choose another with --data or HAKOIRI_DATA", "choose another with data="),
    Hint("change", "redis"): (
        "choose another with --redis or HAKOIRI_REDIS",
        "choose another with resources=Resources(redis=)",
    ),
    Hint("raise", "memory"): ("raise --memory", "raise resources=Resources(memory=)"),
    Hint("lower", "cap"): ("lower --cap", ""),
    Hint("leave out", "start"): ("leave out --from", "leave out start="),
    Hint("leave out", "until_goal"): ("leave out --until-goal", "leave out until_goal="),
    Hint("leave out", "width"): ("leave out --width", ""),
    Hint("run without", "until_goal"): (
        "run the puzzle again without --until-goal",
        "run the puzzle again without until_goal=",
    ),
    Hint("runs"): ("'hakoiri runs' lists them", ""),
    Hint("run", "klotski"): ("start one with 'hakoiri run klotski'", "start one with explore('klotski')"),
    Hint("solve", "gap"): ("'hakoiri solve gap FILE' answers them all", ""),
    Hint("optimise", "nakuron"): ("look for a good play with 'hakoiri optimise nakuron --from FILE'", ""),
    Hint("worker", "redis://127.0.0.1:6379/0"): (
        "start workers with: hakoiri worker --redis redis://127.0.0.1:6379/0",
        "",
    ),
    Hint("name file", "jugs.py:Jugs"): ("type --puzzle PATH/jugs.py:Jugs", "type puzzle='PATH/jugs.py:Jugs'"),
    Hint("host", "DIR"): ("start each host with its directory: hakoiri worker --store DIR", ""),
    Hint("begin anew", RUN): (
        "if their directories are lost, delete the run and start again: hakoiri delete 3f9a2c-klotski",
        "if their directories are lost, delete the run and start again: delete_run('3f9a2c-klotski')",
    ),
    Hint("give", "hosts", "all"): ("set --hosts all", "set resources=Resources(hosts=)"),
    Hint("serve with", "jugs.py:Jugs"): ("start the server with: hakoiri serve --puzzle PATH/jugs.py:Jugs", ""),
    Hint("worker with", "jugs.py:Jugs"): ("start workers with: hakoiri worker --puzzle jugs.py:Jugs", ""),
}


@pytest.mark.parametrize("hint", SAID, ids=" ".join)
def test_a_hint_in_words(hint: Hint) -> None:
    assert (in_command_line(hint), in_python(hint)) == SAID[hint]


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
