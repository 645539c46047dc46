"""Every error that Hakoiri raises on purpose, and the hints that errors carry: the next step as data.

HakoiriError
├── PuzzleError (ValueError)          a wrong puzzle name or option, or a puzzle that breaks its contract
│   └── ConfigurationError            a text or key that is no configuration: says which row or piece
│       └── MisreadError              a text that a user puzzle takes for another one
├── OverBudgetError (MemoryError)     more memory is needed than is allowed
├── StorageError                      locks, damage, full disk, versions: below
├── WorkerError                       Redis, tasks that failed: below
└── RunError (`coordinator.errors`)   unknown or ambiguous runs, questions a run cannot answer

A message is one line: what was expected and what was found. The next step goes with it as data, for the command line
and Python have other words for it (`hakoiri.hints`). `OUTCOMES` has the exit code and the HTTP status of each error.
Only the command line exits.

StorageError (HakoiriError)
├── RunHeldError (BlockingIOError)     another process drives the run
├── TakenOverError                     another process has written to the run that this one drives
├── GoneError (LookupError)            the run was deleted after it was found
├── NameTakenError (FileExistsError)   there is a run by the same name
├── TargetError (OSError)              a folder or bucket named by the user does not take what is written, or lacks it
├── ElsewhereError                     the requested layer is kept by hosts
├── NotKeptError                       the run has dropped the requested layer, as its user asked
├── DamagedError                       bytes on disk differ from those written: names the first block that fails
├── FormatError                        written by another version of the format
├── DiskFullError (OSError)            no room left, found before or during a write
├── NotWritableError (PermissionError) a file or the data directory refuses us, or is on a network file system
├── AddressSpaceError (MemoryError)    this process may not have the addresses that LMDB reserves
└── PoisonedError                      a write failed before: this process may not write to the run any more

WorkerError (HakoiriError)
├── RedisUnavailableError (ConnectionError)  no Redis there, or it was away for too long
├── RedisRefusedError (PermissionError)      wrong or missing password, or a command it does not allow
├── PayloadError (ValueError)                bytes from Redis that are damaged, or lost with a data Redis
└── TaskError                                a task raised: a mistake in a puzzle, or too little memory
"""

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from typing import Literal, NamedTuple, get_args

#: Control characters (C0, DEL, C1), line separators, and changes of the direction of writing. Not the tab.
_UNSEEN = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")

Do = Literal[
    # For a run.
    "resume", "repair", "verify", "wait", "cancel", "collect", "delete", "begin anew", "status", "ask",
    # For a setting.
    "give", "change", "raise", "lower", "leave out", "run without",
    # Others.
    "runs", "run", "archives", "solve", "optimise", "worker", "worker with", "serve with", "host", "drain", "name file",
]  # fmt: skip


class Hint(NamedTuple):
    """A hint to the next step for the user. `what` is the name of a run, a setting or a puzzle.

    `value` is a value for a setting, a question to a run (`coordinator.session.job.Job`), or the data directory of a
    run if the user named it.
    """

    do: Do
    what: str = ""
    value: str = ""

    @staticmethod
    def read(stored: Iterable[Sequence[str]]) -> "tuple[Hint, ...]":
        """Return hints that were stored or sent as lists, without those of later versions; or raise `TypeError`."""
        hints = (Hint(*map(str, hint)) for hint in stored)  # type: ignore[arg-type]
        return tuple(hint for hint in hints if hint.do in get_args(Do))


#: Hints that destroy results: never the first, and never the only one (`HakoiriError.hints`).
DESTROYING: tuple[Do, ...] = ("delete", "begin anew")


class Outcome(NamedTuple):
    """The end that an error brings to a command and to a request."""

    #: HTTP status.
    status: int
    #: Exit code of the command line: 1, or 75 where the same command may succeed later (EX_TEMPFAIL).
    exit_code: int = 1
    #: Whether a run that stops by it can be resumed once the cause is removed.
    resumes: bool = True
    #: The hint before one that destroys, where no other is given.
    instead: Do = "status"


#: The outcome of each error by the name of its class; the first class of its `__mro__` that is here decides.
OUTCOMES = {
    "HakoiriError": Outcome(409),
    "PuzzleError": Outcome(422, resumes=False),
    "StorageError": Outcome(503),
    "RunHeldError": Outcome(409, 75, resumes=False),
    "TakenOverError": Outcome(409, resumes=False),
    "GoneError": Outcome(404, resumes=False),
    "NameTakenError": Outcome(409),
    "TargetError": Outcome(422),
    "ElsewhereError": Outcome(503),
    "NotKeptError": Outcome(409),
    "DamagedError": Outcome(500, resumes=False, instead="verify"),
    "FormatError": Outcome(409),
    "DiskFullError": Outcome(507),
    "AddressSpaceError": Outcome(507, resumes=False),
    "WorkerError": Outcome(503),
    "TaskError": Outcome(409, resumes=False),
    "BadNameError": Outcome(422),
    "UnknownRunError": Outcome(404),
    "OverBudgetError": Outcome(507),
    "ContradictionError": Outcome(409, resumes=False),
    "BusyError": Outcome(503, 75),
}


def outcome_of(kind: type[BaseException]) -> Outcome:
    """Return the outcome of an error of this class; that of `HakoiriError` for others."""
    return next(
        (OUTCOMES[each.__name__] for each in kind.__mro__ if each.__name__ in OUTCOMES), OUTCOMES["HakoiriError"]
    )


def visible(text: str) -> str:
    """Return a text in one line without effects on a terminal: control characters as ``\\x1b``.

    Names, reasons and errors may come from a run, a worker or a Redis of another user; a line feed in one would forge
    a line of a log or a table.
    """
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def visible_lines(text: str) -> str:
    """Return a text of several lines with each of them `visible`."""
    return "\n".join(map(visible, text.split("\n")))


def counted(number: int, things: str) -> str:
    """Return a number with its noun, `things` being the plural: ``1 move``, ``1 mix``, ``1 kernel/s``."""
    first, *rest = re.split(r"(?=[ /])", things)
    one = first.removesuffix("es" if first.endswith(("xes", "sses")) else "s")
    return "".join([f"{number:,} ", one if number == 1 else first, *rest])


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a suggestion for a mistyped word, to end a message with; empty if no known word is near."""
    lower = {name.lower(): name for name in known}
    near = [lower[name] for name in get_close_matches(word.lower(), lower)]
    return f" (did you mean {' or '.join(near)}?)" if near else ""


class HakoiriError(Exception):
    """The base of every error that is not a defect of the program. `hints` are what may help."""

    def __init__(self, text: str = "", *hints: Hint) -> None:
        super().__init__(text)
        self.hints = hints

    @property
    def hints(self) -> tuple[Hint, ...]:
        """The next steps; one that destroys results is last, and never alone."""
        return self._hints

    @hints.setter
    def hints(self, hints: Iterable[Hint]) -> None:
        kept = sorted(hints, key=lambda hint: hint.do in DESTROYING)
        if kept and kept[0].do in DESTROYING:
            kept.insert(0, kept[0]._replace(do=outcome_of(type(self)).instead))
        self._hints = tuple(kept)


class PuzzleError(HakoiriError, ValueError):
    """A puzzle was named, configured or written wrongly."""


class ConfigurationError(PuzzleError):
    """A text or a key is not a configuration of the puzzle."""


class OverBudgetError(HakoiriError, MemoryError):
    """More memory is needed than is allowed."""


class MisreadError(ConfigurationError):
    """A puzzle of a user took a text for that of another configuration."""


class WorkStopped(Exception):  # noqa: N818  (no error)
    """Ends work on request, perhaps when a kernel is to be compiled (`hakoiri.compiling.telling`)."""


#: Errors raised through a puzzle's code that are not its fault; all others are, `SystemExit` too.
NO_FAULT = (HakoiriError, MemoryError, KeyboardInterrupt, WorkStopped)


def require_within(name: str, value: int, least: int, most: int) -> None:
    """Raise `PuzzleError` for a number that is not between two others."""
    if not least <= value <= most:
        raise PuzzleError(f"{name} {value} is not in {least}..{most}")


def require_seconds(seconds: float) -> None:
    """Raise `PuzzleError` unless `seconds` is a positive, finite duration."""
    if not 0 < seconds < math.inf:
        raise PuzzleError(f"{seconds} is not a number of seconds above 0")


class PuzzleWarning(UserWarning):
    """A user's request has several meanings; the message names the one chosen, and how to express the other."""


_REMARKS: ContextVar[list[str] | None] = ContextVar("remarks", default=None)


def remark(text: str, calls: int = 2) -> None:
    """Warn by `PuzzleWarning` of the line so many `calls` above this one, unless `remarks` are collected."""
    if (found := _REMARKS.get()) is None:
        warnings.warn(text, PuzzleWarning, stacklevel=calls + 1)
    elif text not in found:
        found.append(text)


@contextmanager
def remarks() -> Iterator[list[str]]:
    """Collect what puzzles remark within the block, in this thread alone."""
    found: list[str] = []
    token = _REMARKS.set(found)
    try:
        yield found
    finally:
        _REMARKS.reset(token)


class StorageError(HakoiriError):
    """The base of everything below."""


class RunHeldError(StorageError, BlockingIOError):
    """Another live process holds the run's lock."""


class TakenOverError(StorageError):
    """Another process has driven the run while this one was suspended and its lock was removed."""


class GoneError(StorageError, LookupError):
    """The run does not exist any more."""


class NameTakenError(StorageError, FileExistsError):
    """There is a run by the same name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is a run {name} already", Hint("change", "name"), Hint("status", name))


class TargetError(StorageError, OSError):
    """A folder or bucket that the user named does not take what is written there, or lacks what is read."""


class ElsewhereError(StorageError):
    """A layer is kept by hosts, and is not on this machine."""


class NotKeptError(StorageError):
    """The run does not keep the keys of the requested layer."""


class DamagedError(StorageError):
    """A record, block or data file fails its checks."""


class FormatError(StorageError):
    """The run was written by a format that this program does not read."""


class DiskFullError(StorageError, OSError):
    """There is not enough free disk for what comes next, or the disk is `perhaps_broken`."""

    perhaps_broken = False


class NotWritableError(StorageError, PermissionError):
    """A file, or the data directory, cannot be written."""


class AddressSpaceError(StorageError, MemoryError):
    """The map of a data file does not fit into the address space allowed to this process."""


class PoisonedError(StorageError):
    """An earlier write of this process failed; what it wrote cannot be trusted until the run is opened again."""


class WorkerError(HakoiriError):
    """The base of everything below."""


class RedisUnavailableError(WorkerError, ConnectionError):
    """Redis does not answer."""


class RedisRefusedError(WorkerError, PermissionError):
    """Redis answers, but refuses the login or the command."""


class PayloadError(WorkerError, ValueError):
    """A payload is damaged, or was not made by Hakoiri."""


class TaskError(WorkerError):
    """A task failed by itself; another attempt would fail again."""
