"""The contract of a kind of run: its plan, work, verification, repair and reports.

A new kind is one class, its parameters (`coordinator.session.kind`), and a row in `coordinator.runs.kinds`. Creating,
driving, queueing, listing, watching, cancelling, resuming, verifying, repairing and deleting then work as for others.

`guests.study` has the base of runs that make rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from hakoiri.coordinator.errors import UntrustedError
from hakoiri.coordinator.session.kind import ExploreKind, RunKind
from hakoiri.coordinator.session.resources import Budget, Resources
from hakoiri.coordinator.session.session import Observer, Session
from hakoiri.errors import Hint, PuzzleError
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec, names_of
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Figures, Manifest, State

if TYPE_CHECKING:
    from hakoiri.coordinator.session.check import Check


class Table(NamedTuple):
    """Rows for people and for JSON, one column per key; numbers stay numbers.

    `rest` says what is left out; `ask` is the question (`Job.questions`) that returns all of it.
    """

    name: str
    rows: list[dict[str, Any]]
    title: str = ""
    rest: str = ""
    ask: str = ""


class Request(NamedTuple):
    """A requested run, in the terms of its kind: `plan` is part of its identity, `limits` are not."""

    spec: PuzzleSpec
    plan: Mapping[str, Any]
    limits: Mapping[str, Any]


class Job(ABC):
    """The operations on a run of one kind. `store` is the open run, `puzzle` is pinned by its manifest."""

    #: What a user asks for.
    parameters: ClassVar[type[RunKind]] = ExploreKind
    #: True if the work begins at the puzzle's start, which is then part of the run's identity.
    from_start: ClassVar[bool] = False
    #: True if such a run may have several starts (`hakoiri.puzzles.starts`).
    several_starts: ClassVar[bool] = False
    #: The usual number of kernels that such a run calls, to announce how long they take to compile.
    kernels: ClassVar[int] = 14
    #: True if its layers are the configurations of a graph of moves: it answers paths, distances and components.
    has_graph: ClassVar[bool] = False
    #: True if one plan is one run: creating it again resumes it, with new limits.
    named_by_plan: ClassVar[bool] = False
    #: The noun for its rows, in the plural; empty if it has layers.
    row_noun: ClassVar[str] = ""
    #: The class that verifies such a run, unless `verify` does it itself (`hakoiri.loading`).
    verifier: ClassVar[str] = "hakoiri.coordinator.session.check:Check"
    #: The columns of its results in a list for people: a field of the JSON of `run` or attribute of the job, or a label
    #: and such a name, or a label and a text with names in braces (`hakoiri.render.tables`).
    facts: ClassVar[tuple[str, ...]] = ()
    #: The type of `State.figures`.
    figures: ClassVar[type[Figures]]

    def __init__(self, store: RunStore, puzzle: Puzzle) -> None:
        self.store, self.puzzle = store, puzzle

    @classmethod
    def by_hosts(cls, puzzle: Puzzle, plan: Mapping[str, Any]) -> bool:
        """Return whether hosts that keep ranges may make its layers."""
        return False

    @property
    def hosts_may_keep(self) -> bool:
        """Return whether hosts may make this run."""
        return self.by_hosts(self.puzzle, self.store.manifest.plan)

    @classmethod
    def require_hosts(cls, puzzle: Puzzle, plan: Mapping[str, Any], resources: Resources) -> bool:
        """Return whether hosts are requested; raise `PuzzleError` if the requested hosts or copies are impossible."""
        copies = (resources.copies or 1) > 1
        if not copies and (resources.hosts is None or resources.hosts < 0):
            return False
        if resources.hosts == -1:
            raise PuzzleError("copies need hosts", Hint("give", "copies", "1"))
        if not cls.by_hosts(puzzle, plan):
            text = "hosts can keep explorations with all layers, censuses, and goal distances by backward moves"
            raise PuzzleError(f"{text}, but not this run", Hint("leave out", "hosts"))
        return True

    @classmethod
    def parse_request(cls, spec: PuzzleSpec, **given: Any) -> Request:
        """Return the requested run from the fields of its `parameters`; raises as `RunKind.of` and `request` do."""
        return cls.request(spec, cls.parameters.of(**given))

    @classmethod
    def request(cls, spec: PuzzleSpec, asked: Any) -> Request:
        """Return the run that `asked`, of the class of its `parameters`, stands for.

        The caller has checked the types of its fields. Raises `PuzzleError` for invalid values.
        """
        return Request(asked.checked(spec), asked.plan(), asked.limits())

    @classmethod
    def puzzle_kind(cls, spec: PuzzleSpec) -> type[Any]:
        """Return the class of the puzzle; raise `PuzzleError` for a puzzle that cannot have such a run."""
        kind, asked = spec.kind(), cls.parameters
        if not asked.may_be_of(kind):
            hints = (hint._replace(what=hint.what.format(spec.name)) for hint in asked.instead)
            raise PuzzleError(asked.misfit.format(spec.name, names_of(asked.may_be_of)), *hints)
        return kind

    @classmethod
    def validate(cls, spec: PuzzleSpec, plan: Mapping[str, Any]) -> Puzzle:
        """Return the puzzle of a new run; raise `PuzzleError` if the puzzle or the plan is invalid for this kind."""
        return spec.build()

    @classmethod
    def merge_limits(cls, limits: Mapping[str, Any], state: State, waiting: Mapping[str, Any]) -> dict[str, Any]:
        """Return the new limits of an existing run; a limit of ``seconds`` from now becomes seconds over all sessions.

        `waiting` are the limits of the queued run, empty if it is not queued; they stay in force.
        """
        seconds = limits.get("seconds")
        return dict(limits) | ({} if seconds is None else {"seconds": state.seconds + seconds})

    def limit_resources(self, resources: Resources, observer: Observer) -> Resources:
        """Return what the work can use of `resources`; raise `OverBudgetError` if that is too little."""
        return resources

    @classmethod
    def identity(cls, puzzle: Puzzle) -> dict[str, str]:
        """Return the options of the puzzle that are part of the run's identity."""
        return puzzle.option_texts()

    def is_done(self) -> bool:
        """Return whether the work is finished, without opening an executor."""
        return False

    @abstractmethod
    def work(self, session: Session) -> None:
        """Work from the last commit until nothing is left, and commit that the run is complete.

        Commits along the way, and reports progress to the session. Raises `StopRun` when the session's control requests
        it, after committing what is finished; other errors leave the last commit in place.
        """

    @abstractmethod
    def repair(self, session: Session) -> None:
        """Repair damaged data, or erase it so that `work` makes it again. Durable on return.

        Raises `DamagedError` if recomputed data differs from its record.
        """

    def distrust(self, session: Session, error: UntrustedError) -> None:
        """Erase what may follow from the answers of a faulty worker, so that `work` computes it again.

        By default that is everything the run has found.
        """
        session.observer.note(f"{error}; the run restarts without it")
        store = session.store
        store.erase_results()
        begun = replace(store.state, depth=-1, stored_bytes=0, digest="", figures=self.figures().as_dict())
        store.commit(begun)
        Spill(store.directory, store.layout, 0).clear()

    def verify(self, check: "Check") -> None:
        """Report everything wrong with the run, whose layers are each sound. May raise `DamagedError`."""
        check.check()

    @abstractmethod
    def summary(self, budget: Budget) -> dict[str, Any]:
        """Return the fields of the JSON of `run` that are specific to this kind, besides its figures."""

    @property
    def goal_text(self) -> str | None:
        """The goal of the puzzle as text, if it has one."""
        return self.puzzle.goal_text() or None

    def tables(self) -> list[Table]:
        """Return the tables to show below the facts."""
        return []

    def rows(self) -> Iterator[dict[str, Any]] | None:
        """Yield the results as rows of one table, for other programs; ``None`` if the results are not rows."""
        return None

    def boards(self) -> list[dict[str, Any]]:
        """Return boards to play, the hardest first or as listed: rows with `board`, `goal`, `moves`; usually none."""
        return []

    def questions(self) -> list[str]:
        """Return what the complete run answers: ``path``, ``diameter``, ``strong components``, ``solutions``."""
        return []

    @classmethod
    def compare(cls, manifest: Manifest, others: Callable[[], list[tuple[Manifest, State]]]) -> Table | None:
        """Return a comparison of the run with all runs of its puzzle, itself included, if the kind has one."""
        return None
