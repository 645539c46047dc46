"""The texts of hints (`hakoiri.errors.Hint`): commands for the command line, calls for Python."""

import shlex
from collections.abc import Iterable
from contextlib import ContextDecorator
from pathlib import Path

from hakoiri.coordinator.runs.catalogue import data_directory
from hakoiri.errors import Do, HakoiriError, Hint, PuzzleError

#: The sentence around a command or a call, the command, and the call: empty if Python has none.
WORDS: dict[Do, tuple[str, str, str]] = {
    "resume": ("continue with: {}", "hakoiri resume {run}", "resume_run({run})"),
    "repair": ("{} repairs what is damaged", "'hakoiri resume {run} --repair'", "resume_run({run}, repair=True)"),
    "verify": ("{} lists all faults", "'hakoiri verify {run}'", "verify_run({run})"),
    "collect": ("copy it to this machine with {}", "'hakoiri collect {run}'", ""),
    "wait": ("follow it to its end with {}", "'hakoiri status {run} --watch'", ""),
    "cancel": ("stop it with {}", "'hakoiri cancel {run}'", ""),
    "delete": ("{} removes it", "'hakoiri delete {run}'", "delete_run({run})"),
    "status": ("see {}", "'hakoiri status {run}'", ""),
    "ask": ("use {}", "'{question}'", "run.{question}"),
    "give": ("set {}", "{setting} {value}", "{setting}"),
    "change": ("choose another with {}", "{setting}", "{setting}"),
    "raise": ("raise {}", "{setting}", "{setting}"),
    "lower": ("lower {}", "{setting}", "{setting}"),
    "leave out": ("leave out {}", "{setting}", "{setting}"),
    "run without": ("run the puzzle again without {}", "{setting}", "{setting}"),
    "runs": ("{} lists them", "'hakoiri runs'", ""),
    "run": ("start one with {}", "'hakoiri run {what}'", "explore({what!r})"),
    "solve": ("{} answers them all", "'hakoiri solve {what} FILE'", ""),
    "optimise": ("look for a good play with {}", "'hakoiri optimise {what} --from FILE'", ""),
    "archives": ("{} lists what is there", "'hakoiri archives {what}'", ""),
    "worker": ("start workers with: {}", "hakoiri worker --redis {what}", ""),
    "drain": ("move its ranges to other hosts with {}", "'hakoiri drain {what}'", ""),
    "host": ("start each host with its directory: {}", "hakoiri worker --store {what}", ""),
    "begin anew": (
        "if their directories are lost, delete the run and start again: {}",
        "hakoiri delete {run}",
        "delete_run({run})",
    ),
    "name file": ("type {}", "--puzzle PATH/{what}", "puzzle='PATH/{what}'"),
    "serve with": ("start the server with: {}", "hakoiri serve --puzzle PATH/{what}", ""),
    "worker with": ("start workers with: {}", "hakoiri worker --puzzle {what}", ""),
}
_FLAGS = {"data": "--data or HAKOIRI_DATA", "option": "-o", "redis": "--redis or HAKOIRI_REDIS", "start": "--from"}
_PARAMETERS = ("data", "diameters", "keep", "layers", "merge_mirrors", "most", "name", "start", "until_goal")
_ARGUMENTS = {name: f"{name}=" for name in _PARAMETERS} | {
    "copies": "resources=Resources(copies=)", "hosts": "resources=Resources(hosts=)",
    "memory": "resources=Resources(memory=)", "option": "options=", "redis": "resources=Resources(redis=)",
}  # fmt: skip
#: Questions with other names than in `coordinator.session.job.Job`: as a command, and as a method.
_COMMANDS = {"farthest": "path --to farthest", "strong components": "components --strong"}
_METHODS = {"farthest": "path('farthest')", "strong components": "strong_components()", "status": "summary()"}


def worded(text: object, hints: Iterable[Hint]) -> str:
    """Return a sentence, with the hints after it as commands."""
    return "; ".join([str(text), *map(in_command_line, hints)])


def command(question: str, run: str) -> str:
    """Return the command for a question to a run, with its options after the run."""
    name, *options = _COMMANDS.get(question, question).split()
    return " ".join(["hakoiri", name, run, *options])


def named(directory: Path, name: str = "") -> str:
    """Return a run as an argument of commands, by `name` or its own; with --data if it is not in the default place."""
    where = directory.parent
    return (name or directory.name) + ("" if data_directory() == where else f" --data {shlex.quote(str(where))}")


def in_command_line(hint: Hint) -> str:
    """Return a hint as a command."""
    words, form, _ = WORDS[hint.do]
    run = hint.what + (f" --data {shlex.quote(hint.value)}" if hint.value else "")
    flag = _FLAGS.get(hint.what, f"--{hint.what.replace('_', '-')}")
    question = command(hint.value or "status", hint.what)
    return words.format(form.format(run=run, setting=flag, question=question, what=hint.what, value=hint.value))


def in_python(hint: Hint) -> str:
    """Return a hint as a call of `hakoiri`; empty without a call."""
    words, _, form = WORDS[hint.do]
    run = repr(hint.what) + (f", data={hint.value!r}" if hint.value else "")
    argument, method = _ARGUMENTS.get(hint.what, ""), _METHODS.get(hint.value, f"{hint.value}()")
    call = form.format(run=run, setting=argument, question=method, what=hint.what)
    return words.format(call) if call else ""


class noted(ContextDecorator):  # noqa: N801  (a decorator)
    """Add the hints of an error raised to a user of `hakoiri` as a note, which tracebacks show.

    A mistake in a puzzle or function of the user leaves without the lines of Hakoiri: its message names the user's.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if not isinstance(error, HakoiriError):
            return
        calls = "; ".join(filter(None, map(in_python, error.hints)))
        if calls and not getattr(error, "__notes__", None):
            error.add_note(calls)
        if isinstance(error, PuzzleError):
            error.__traceback__, error.__cause__, error.__suppress_context__ = None, None, True
