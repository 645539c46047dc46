"""The words for next steps (`puzzles.errors.Step`): commands for the command line, calls for Python."""

import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from puzzles.errors import HakoiriError, Step

#: ``{run}`` is the name, with the data directory where the user gave one; ``{flag}`` that of a setting.
COMMANDS = {
    "resume": "go on with: hakoiri resume {run}",
    "repair": "'hakoiri resume {run} --repair' computes again what is damaged",
    "verify": "'hakoiri verify {run}' lists all faults",
    "cancel": "stop it with 'hakoiri cancel {run}'",
    "delete": "'hakoiri delete {run}' removes it",
    "status": "look with 'hakoiri status {run}'",
    "ask": "ask '{question}'",
    "give": "give {flag} {value}",
    "change": "name another with {flag}",
    "raise": "raise {flag}",
    "lower": "lower {flag}",
    "leave out": "leave out {flag}",
    "runs": "'hakoiri runs' lists them",
    "run": "make one with 'hakoiri run {what}'",
    "solve": "'hakoiri solve {what} FILE' answers them all",
    "optimise": "look for a good play with 'hakoiri optimise {what} --from FILE'",
    "worker": "start workers with: hakoiri worker",
    "worker with": "start workers with: hakoiri worker --puzzle {what}",
}
#: What Python has no call for is not said there.
CALLS = {
    "resume": "go on with resume_run({run})",
    "repair": "resume_run({run}, repair=True) computes again what is damaged",
    "verify": "verify_run({run}) lists all faults",
    "delete": "delete_run({run}) removes it",
    "ask": "ask run.{question}",
    "give": "give {argument}",
    "change": "give another {argument}",
    "raise": "give more in {argument}",
    "leave out": "leave out {argument}",
    "run": "make one with explore({what!r})",
}
_FLAGS = {"data": "--data or HAKOIRI_DATA", "option": "-o", "redis": "--redis or HAKOIRI_REDIS", "start": "--from"}
_ARGUMENTS = {
    "data": "data=",
    "memory": "resources=Resources(memory=)",
    "merge_mirrors": "merge_mirrors=",
    "option": "options=",
    "redis": "resources=Resources(redis=)",
    "start": "start=",
    "until_goal": "until_goal=",
}
#: The questions that are called otherwise than in `coordinator.session.job.Job`: as a command, and as a method.
_QUESTIONS = {"farthest": "path --to farthest", "strong components": "components --strong"}
_METHODS = {"strong components": "strong_components", "status": "summary"}


def worded(text: object, steps: Iterable[Step]) -> str:
    """A sentence, and the next steps after it as commands."""
    return "; ".join([str(text), *map(in_command_line, steps)])


def command(question: str, run: str) -> str:
    """The command that asks a run something: its options after the run."""
    name, *options = _QUESTIONS.get(question, question).split()
    return " ".join(["hakoiri", name, run, *options])


def in_command_line(step: Step) -> str:
    """A step as a command."""
    return COMMANDS[step.do].format(
        what=step.what,
        value=step.value,
        run=step.what + (f" --data {shlex.quote(step.value)}" if step.value else ""),
        flag=_FLAGS.get(step.what, f"--{step.what.replace('_', '-')}"),
        question=command(step.value, step.what) if step.do == "ask" else "",
    )


def in_python(step: Step) -> str:
    """A step as a call of `hakoiri`; empty where there is none."""
    words = CALLS.get(step.do, "")
    if "{argument}" in words and step.what not in _ARGUMENTS:
        return ""
    return words.format(
        what=step.what,
        run=repr(step.what) + (f", data={step.value!r}" if step.value else ""),
        argument=_ARGUMENTS.get(step.what),
        question=f"{_METHODS.get(step.value, step.value)}()",
    )


@contextmanager
def noted() -> Iterator[None]:
    """An error on its way to a user of `hakoiri` gets its next steps as a note, which tracebacks show."""
    try:
        yield
    except HakoiriError as error:
        calls = "; ".join(filter(None, map(in_python, error.steps)))
        if calls and not getattr(error, "__notes__", None):
            error.add_note(calls)
        raise
