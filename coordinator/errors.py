"""What a user may ask of runs and not get.

RunError (HakoiriError)
├── UnknownRunError (LookupError)    no run, or several, by this name
├── UnanswerableError (ValueError)   the run cannot answer this question, now or ever: says which run could
├── MismatchError (ValueError)       a resume with another puzzle, version or parameters: says what differs
├── OverBudgetError (MemoryError)    the layers in hand need more memory than is allowed
├── UntrustedError                   a worker was wrong that had answered before
└── ContradictionError               the puzzle breaks its own promise, e.g. a move that cannot be taken back

StopRun is not an error: it carries the wish to stop through the search.
"""

from hakoiri.puzzles.errors import HakoiriError
from hakoiri.storage.ledger.manifest import Status


class RunError(HakoiriError):
    """The base of everything below."""


class UnknownRunError(RunError, LookupError):
    """A run was named that is not there, or not unique."""


class UnanswerableError(RunError, ValueError):
    """This run cannot answer this question."""


class MismatchError(RunError, ValueError):
    """A run would be continued as something that it is not."""


class OverBudgetError(RunError, MemoryError):
    """More memory is needed than was allowed."""


class ContradictionError(RunError):
    """What a puzzle does contradicts what it says of itself."""


class UntrustedError(RunError):
    """A worker was wrong, and earlier answers of it count."""


class StopRun(Exception):  # noqa: N818  (no error)
    """Leave the search now; the run becomes `status`."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
