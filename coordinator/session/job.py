"""The contract of one kind of run: what it is to do, how it works, checks itself, mends itself and reports.

A new kind is one class and one row in `coordinator.runs.kinds`. Making, driving, queueing, listing, watching,
cancelling, resuming, verifying, repairing and deleting are then the same as for all others.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

from hakoiri.coordinator.errors import UnanswerableError, UntrustedError
from hakoiri.coordinator.session.check import Check
from hakoiri.coordinator.session.resources import Budget, Resources
from hakoiri.coordinator.session.session import Observer, Session
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Key
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Figures, Manifest, State
from hakoiri.worker.warm import Loader, load_host_kernels, load_search_kernels

_Item = TypeVar("_Item")
_MOST_FAULTS = 100
#: Seeds of samples are below this: short enough to be typed.
_SEEDS = 1 << 32
#: Where the faults come from: the puzzle's own rules, files that a repair mends, or neither.
Cause = Literal["puzzle", "damage", "unknown"]


class Table(NamedTuple):
    """Rows for people and for JSON, a column for each key, numbers as numbers.

    `rest` says what is left out, `ask` which question (`Job.questions`) is answered by all of it.
    """

    name: str
    rows: list[dict[str, Any]]
    title: str = ""
    rest: str = ""
    ask: str = ""


class Request(NamedTuple):
    """A run that somebody asks for, in the words of its kind: `plan` is part of its identity, `limits` are not."""

    spec: PuzzleSpec
    plan: Mapping[str, Any]
    limits: Mapping[str, Any]


class Play(NamedTuple):
    """A play: its score, how many moves it has and which (`puzzles.capabilities.Scored.write_play`).

    Where it is `proved` to be the best there is, `path` holds its configurations from the start on.
    """

    score: int
    moves: int
    sequence: str
    proved: bool
    path: list[Key]

    def row(self) -> dict[str, Any]:
        return {"score": self.score, "moves": self.moves, "sequence": self.sequence}


class Job(ABC):
    """What is done with a run of one kind. `store` is the open run, `puzzle` the one that it pins."""

    #: The work sets out from the puzzle's start, so that the start is part of the run's identity.
    from_start: ClassVar[bool] = False
    #: Its layers are the configurations of a graph of moves: it can be asked for paths, distances and components.
    has_graph: ClassVar[bool] = False
    #: One plan is one run: making it again goes on with it, up to other limits.
    named_by_plan: ClassVar[bool] = False
    #: What such a run has in place of layers, in the plural; empty if it has layers.
    row_noun: ClassVar[str] = ""
    #: Loads the kernels that the work needs, so that none is compiled once its clock runs.
    kernels: ClassVar[tuple[Loader, ...]] = (load_search_kernels,)
    #: What verifies such a run, if `verify` does not do it itself.
    check_class: ClassVar[type[Check]] = Check
    #: What `State.figures` of such a run are.
    figures: ClassVar[type[Figures]]

    def __init__(self, store: RunStore, puzzle: Puzzle) -> None:
        self.store, self.puzzle = store, puzzle

    def load_kernels(self, by_hosts: bool) -> None:
        """Load all `kernels`, or compile them, and those of a search in which hosts may take part if they may."""
        for load in self.kernels:
            load(self.puzzle)
        if by_hosts and self.by_hosts(self.puzzle):
            load_host_kernels(self.puzzle)

    @classmethod
    def by_hosts(cls, puzzle: Puzzle) -> bool:
        """Return whether hosts that keep ranges may make its layers."""
        return False

    @classmethod
    def parse_request(cls, spec: PuzzleSpec, *, until_goal: bool = False, layers: int | None = None) -> Request:
        """Return the run that these words ask for; each kind has words of its own, named as in JSON, with defaults.

        Their types are checked before. Raise `PuzzleError` for values that make no sense.
        """
        plan = {"until_goal": True} if until_goal else {}
        return Request(spec, plan | ({} if layers is None else {"layers": layers}), {})

    @classmethod
    def validate(cls, spec: PuzzleSpec, plan: Mapping[str, Any]) -> Puzzle:
        """Return the puzzle of a new run; raise `PuzzleError` if it or the plan makes no sense for this kind."""
        return spec.build()

    @classmethod
    def merge_limits(cls, limits: Mapping[str, Any], state: State, waiting: Mapping[str, Any]) -> dict[str, Any]:
        """Return the limits of a run that is made again; ``seconds`` from now on become seconds of all sessions.

        `waiting` are the limits of the queued run, empty if it is not queued: what they ask for is kept.
        """
        seconds = limits.get("seconds")
        return dict(limits) | ({} if seconds is None else {"seconds": state.seconds + seconds})

    def limit_resources(self, resources: Resources, observer: Observer) -> Resources:
        """Return what the work can use of `resources`; raise `OverBudgetError` if that is too little."""
        return resources

    @classmethod
    def identity(cls, puzzle: Puzzle) -> dict[str, str]:
        """Return the options of the puzzle that are part of the run's identity."""
        return dict(puzzle.parameters)

    def is_done(self) -> bool:
        """Return whether nothing is left to do, so that no executor is opened to find out."""
        return False

    @abstractmethod
    def work(self, session: Session) -> None:
        """Go on from the last commit until nothing is left, and commit that the run is complete.

        Commits as it goes, and tells the session its progress. Raises `StopRun` when the session's control says so,
        having committed what was finished; other errors leave the last commit standing.
        """

    @abstractmethod
    def repair(self, session: Session) -> None:
        """Mend what is damaged, or forget it, so that `work` does it again. Durable on return.

        `DamagedError` where what is computed again is not what was there.
        """

    def distrust(self, session: Session, error: UntrustedError) -> None:
        """Forget what may follow from the answers of a worker that was wrong, so that `work` does it again.

        By default that is all that the run has found.
        """
        session.observer.note(f"{error}: the run begins again, without it")
        store = session.store
        store.erase_results()
        Spill(store.directory, store.layout, 0).clear()
        begun = replace(store.state, depth=-1, stored_bytes=0, digest="", figures=self.figures().as_dict())
        store.commit(begun)

    def verify(self, check: Check) -> None:
        """Report everything wrong with the run; its layers are sound by themselves. May raise `DamagedError`."""
        check.check()

    @abstractmethod
    def summary(self, budget: Budget) -> dict[str, Any]:
        """What the JSON of `run` says of this kind, besides its figures and what all runs have."""

    @abstractmethod
    def facts(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        """What people are shown of a summary, each under its label; ``None`` is left out."""

    def tables(self) -> list[Table]:
        """What people are shown below."""
        return []

    def rows(self) -> Iterator[dict[str, Any]] | None:
        """What was found as rows of one table, for other programs; ``None`` where that is something else."""
        return None

    def best_play(self, budget: Budget) -> Play:
        """The best play known; `UnanswerableError` where there are none, `OverBudgetError` for too little memory."""
        raise UnanswerableError(f"run {self.store.manifest.run} is of the kind {self.store.manifest.mode}: no plays")

    def questions(self) -> list[str]:
        """What the complete run can be asked: ``path``, ``diameter``, ``strong components``, ``solutions``."""
        return []

    @classmethod
    def compare(cls, manifest: Manifest, others: Callable[[], list[tuple[Manifest, State]]]) -> Table | None:
        """How a run stands beside the others of its puzzle, itself among them, where that says something."""
        return None
