"""Next steps in words: as commands, and as calls of `hakoiri`."""

from pathlib import Path
from typing import get_args

import pytest
from typer.main import get_command

import hakoiri
from hakoiri.api import Run
from hakoiri.cli.app import app
from hakoiri.puzzles.errors import Do, HakoiriError, Step
from hakoiri.steps import WORDS, in_command_line, in_python, noted, worded

RUN = "3f9a2c-klotski"
SAID = {
    Step("resume", RUN): ("go on with: hakoiri resume 3f9a2c-klotski", "go on with: resume_run('3f9a2c-klotski')"),
    Step("resume", RUN, "my runs"): (
        "go on with: hakoiri resume 3f9a2c-klotski --data 'my runs'",
        "go on with: resume_run('3f9a2c-klotski', data='my runs')",
    ),
    Step("repair", RUN): (
        "'hakoiri resume 3f9a2c-klotski --repair' mends what is damaged",
        "resume_run('3f9a2c-klotski', repair=True) mends what is damaged",
    ),
    Step("verify", RUN): (
        "'hakoiri verify 3f9a2c-klotski' lists all faults",
        "verify_run('3f9a2c-klotski') lists all faults",
    ),
    Step("cancel", RUN): ("stop it with 'hakoiri cancel 3f9a2c-klotski'", ""),
    Step("collect", RUN): ("bring it home with 'hakoiri collect 3f9a2c-klotski'", ""),
    Step("drain", "host-a"): ("have them take over with 'hakoiri drain host-a'", ""),
    Step("delete", RUN): ("'hakoiri delete 3f9a2c-klotski' removes it", "delete_run('3f9a2c-klotski') removes it"),
    Step("status", RUN): ("look with 'hakoiri status 3f9a2c-klotski'", ""),
    Step("ask", RUN, "diameter"): ("ask 'hakoiri diameter 3f9a2c-klotski'", "ask run.diameter()"),
    Step("ask", RUN, "farthest"): ("ask 'hakoiri path 3f9a2c-klotski --to farthest'", "ask run.path('farthest')"),
    Step("ask", RUN, "status"): ("ask 'hakoiri status 3f9a2c-klotski'", "ask run.summary()"),
    Step("ask", RUN, "strong components"): (
        "ask 'hakoiri components 3f9a2c-klotski --strong'",
        "ask run.strong_components()",
    ),
    Step("give", "memory", "12MB"): ("give --memory 12MB", "give resources=Resources(memory=)"),
    Step("give", "option", "solutions=keep"): ("give -o solutions=keep", "give options="),
    Step("change", "data"): ("name another with --data or HAKOIRI_DATA", "name another with data="),
    Step("change", "redis"): (
        "name another with --redis or HAKOIRI_REDIS",
        "name another with resources=Resources(redis=)",
    ),
    Step("raise", "memory"): ("raise --memory", "raise resources=Resources(memory=)"),
    Step("lower", "cap"): ("lower --cap", ""),
    Step("leave out", "start"): ("leave out --from", "leave out start="),
    Step("leave out", "until_goal"): ("leave out --until-goal", "leave out until_goal="),
    Step("leave out", "width"): ("leave out --width", ""),
    Step("run without", "until_goal"): (
        "run the puzzle again without --until-goal",
        "run the puzzle again without until_goal=",
    ),
    Step("runs"): ("'hakoiri runs' lists them", ""),
    Step("run", "klotski"): ("make one with 'hakoiri run klotski'", "make one with explore('klotski')"),
    Step("solve", "gap"): ("'hakoiri solve gap FILE' answers them all", ""),
    Step("optimise", "nakuron"): ("look for a good play with 'hakoiri optimise nakuron --from FILE'", ""),
    Step("worker", "redis://127.0.0.1:6379/0"): (
        "start workers with: hakoiri worker --redis redis://127.0.0.1:6379/0",
        "",
    ),
    Step("name file", "jugs.py:Jugs"): ("type --puzzle PATH/jugs.py:Jugs", "type puzzle='PATH/jugs.py:Jugs'"),
    Step("host", "DIR"): ("start each host with its directory: hakoiri worker --store DIR", ""),
    Step("give", "hosts", "all"): ("give --hosts all", "give resources=Resources(hosts=)"),
    Step("worker with", "jugs.py:Jugs"): ("start workers with: hakoiri worker --puzzle jugs.py:Jugs", ""),
}


@pytest.mark.parametrize("step", SAID, ids=" ".join)
def test_a_step_in_words(step: Step) -> None:
    assert (in_command_line(step), in_python(step)) == SAID[step]


def test_every_step_has_words() -> None:
    assert {step.do for step in SAID} == set(WORDS) == set(get_args(Do))


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


def test_a_sentence_and_its_steps() -> None:
    error = HakoiriError("it is full", Step("lower", "cap"), Step("raise", "memory"))
    assert worded(error, error.steps) == "it is full; lower --cap; raise --memory"
    assert str(error) == "it is full"


def test_steps_that_were_stored_are_read_again() -> None:
    assert Step.read([["resume", RUN, ""], ["of a later version", "x", "y"], ["runs"]]) == (
        Step("resume", RUN),
        Step("runs"),
    )
    for broken in ([["resume", RUN, "", "more"]], [[]], 7, [7]):
        with pytest.raises(TypeError):
            Step.read(broken)  # type: ignore[arg-type]


def test_python_is_given_calls(tmp_path: Path) -> None:
    with pytest.raises(HakoiriError, match=f"^there are no runs in {tmp_path}\n") as refused:
        hakoiri.open_run("last", tmp_path)
    assert refused.value.__notes__ == ["make one with explore('klotski'); name another with data="]
    with pytest.raises(HakoiriError) as outer, noted(), noted():
        raise HakoiriError("no", Step("lower", "cap"), Step("delete", RUN))
    assert outer.value.__notes__ == [f"delete_run({RUN!r}) removes it"]
    with pytest.raises(HakoiriError) as silent, noted():
        raise HakoiriError("no", Step("lower", "cap"))
    assert not hasattr(silent.value, "__notes__")
