"""Errors of runs: requests that cannot be fulfilled.

RunError (HakoiriError)
├── BadNameError (ValueError)        a name that a run cannot have
├── UnknownRunError (LookupError)    no run, or several, by this name
├── UnanswerableError (ValueError)   the run cannot answer this question, now or ever: names a run that could
├── MismatchError (ValueError)       a resume with another puzzle, version or parameters: names the difference
├── StoppedError                     a run stopped before its end
├── UntrustedError                   a worker gave a wrong answer, and earlier answers of it were used
└── ContradictionError               the puzzle breaks its own promise, e.g. a move that cannot be taken back

StopRun is not an error: it ends the search on request.
"""

from collections.abc import Mapping
from typing import Any

from hakoiri.errors import HakoiriError, Hint, WorkStopped, counted
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.lock import holder_of
from hakoiri.storage.ledger.manifest import Status
from hakoiri.storage.names import QUEUED_FILE

#: The value of figures about goals where the puzzle has none.
NO_GOAL = "no goal is set"


def nearest_goal(row: Mapping[str, Any], has_goal: bool | None) -> str | None:
    """Return the `goal_depth` of a search in words; ``None`` before its first layer, or for an unknown `has_goal`."""
    if row["goal_depth"] is not None:
        return counted(row["goal_depth"], "moves")
    if not has_goal or row["depth"] is None:
        return NO_GOAL if has_goal is False else None
    return "none" if row["exhausted"] else f"none within {counted(row['depth'], 'moves')}"


class RunError(HakoiriError):
    """The base class of the errors below."""


class BadNameError(RunError, ValueError):
    """A run cannot have this name."""


class UnknownRunError(RunError, LookupError):
    """The named run does not exist, or the name is ambiguous."""


class UnanswerableError(RunError, ValueError):
    """The run cannot answer this question."""


class MismatchError(RunError, ValueError):
    """A run would be resumed with another identity."""


class ContradictionError(RunError):
    """The puzzle's moves contradict its declared properties."""


class StoppedError(RunError):
    """A run stopped before its end, with this `status` and `reason`; the hints say how it is continued."""

    def __init__(self, run: str, status: Status, reason: str, *hints: Hint) -> None:
        super().__init__(f"run {run} is {status}: {reason}", *hints)
        self.status, self.reason = status, reason


class UntrustedError(RunError):
    """A worker gave a wrong answer, and earlier answers of it were used."""


def further(store: Ledger) -> Hint:
    """Return the hint how to find more than a run has so far, or than the limit in its plan has let it find."""
    directory = store.directory
    if store.state.status == "complete":
        return Hint("run without", next(iter(store.manifest.plan), "until_goal"))
    goes_on = (directory / QUEUED_FILE).exists() or holder_of(directory) is not None
    return Hint("wait" if goes_on else "resume", directory.name)


class StopRun(WorkStopped):
    """Ends the search at once; the run gets the status `status`."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
