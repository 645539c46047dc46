"""Creates runs: checks the puzzle, pins its identity in a manifest, and builds the puzzle again from there.

A run derived from a finished run pins the name and digest of that run, is found from it, and is deleted with it.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hakoiri.coordinator.errors import MismatchError
from hakoiri.coordinator.runs.catalogue import free_name, new_run_name
from hakoiri.coordinator.runs.kinds import kind_class, kind_of
from hakoiri.coordinator.runs.opening import open_store
from hakoiri.coordinator.session.job import Job
from hakoiri.coordinator.session.resources import LEAST_MEMORY, Resources
from hakoiri.errors import Hint, PuzzleError, StorageError
from hakoiri.memory import limited_tables
from hakoiri.puzzles.capabilities import Quotient
from hakoiri.puzzles.conformance.pool import try_out
from hakoiri.puzzles.contract import Puzzle, numbers_of
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.user.files import is_known, loaded_from, remember
from hakoiri.storage.engine.environment import refuse_network_file_system
from hakoiri.storage.engine.files import Given
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.layers.table_file import TableShape
from hakoiri.storage.ledger.ledger import Ledger, create_run
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.ledger.manifest import Manifest, local_time
from hakoiri.storage.names import DATA_FILE, FORMAT_VERSION, LAYERS, QUEUED_FILE

#: The most layers without a record that a run is opened with.
_MOST_LOST = 1 << 16


def make_run(
    data: Path, spec: PuzzleSpec, kind: str | None, plan: Mapping[str, Any], resources: Resources,
    queued: bool = False, limits: Mapping[str, Any] | None = None,
) -> Path:  # fmt: skip
    """Plan a run (`plan_run`) and create it (`make_planned`); return its directory."""
    return make_planned(data, plan_run(data, spec, kind, plan, resources), queued, limits)


def plan_run(
    data: Path, spec: PuzzleSpec, kind: str | None, plan: Mapping[str, Any], resources: Resources,
    name: str | None = None,
) -> Manifest:  # fmt: skip
    """Return the manifest of a new run, its puzzle, options and plan checked. Nothing is written.

    `kind` is a kind of run (`coordinator.runs.kinds`), by default the puzzle's usual one; `plan` is in the kind's own
    terms. Its name is `name`, or a new one. The file of a user puzzle must have been loaded.
    """
    kind = kind or spec.kind().usual_kind
    job = kind_of(kind)
    if spec.starts and not job.several_starts:
        raise PuzzleError(f"a run of the kind {kind} has one start, not several")
    # IMPORTANT: of every kind, or a run is created that `pinned_puzzle` refuses, so it is never driven.
    job.puzzle_kind(spec)
    with limited_tables(resources.memory):
        puzzle, kept = job.validate(spec, plan), resources.lasting()
    job.require_hosts(puzzle, plan, resources)
    if spec.digest or spec.definition:
        try_out(puzzle, texts=bool(spec.definition))
    start = spec.start
    if job.from_start or start is not None:
        # In full, so that a later change of a puzzle's usual start cannot change the run. Where mirrors are merged it
        # is the user's own start, not the least of its images.
        plain = puzzle.base if isinstance(puzzle, Quotient) else puzzle
        # By its key, if the puzzle cannot parse its own texts.
        text, start = plain.start_text(), f"{plain.start:#x}"
        with suppress(PuzzleError):
            start = text if plain.parse(text) == plain.start else start
    starts = puzzle.several_starts.written() if puzzle.several_starts else ""
    pinned = replace(spec, options=job.identity(puzzle), start=start, starts=starts)
    if job.named_by_plan:
        run = name_of_plan(pinned, puzzle, kind, plan)
    else:
        run = new_run_name(data, puzzle.name) if name is None else free_name(data, name)
    return Manifest(
        FORMAT_VERSION, run, local_time(), pinned.as_dict(), puzzle.version, puzzle.layout.name,
        kind, plan, kept,
    )  # fmt: skip


def make_planned(data: Path, manifest: Manifest, queued: bool, limits: Mapping[str, Any] | None) -> Path:
    """Create a queued run, durable on return; return its directory.

    If its kind is `named_by_plan` and the run exists, it is resumed with the new `limits`, which are in the kind's own
    terms. `RunHeldError` if a process drives it.
    """
    run, job, spec = manifest.run, kind_of(manifest.kind), PuzzleSpec.from_dict(manifest.puzzle)
    refuse_network_file_system(data)
    if spec.digest:
        remember(spec.digest, loaded_from(spec.name, spec.digest))
    if not (data / run / DATA_FILE).exists():
        try:
            return create_run(data, manifest, queued, job.figures().as_dict(), limits)
        except StorageError:
            # Another process may have been faster.
            if not job.named_by_plan or not (data / run / DATA_FILE).exists():
                raise
    directory = data / run
    with RunLock(directory), Ledger(directory, writable=True) as ledger:
        there = ledger.manifest
        for what in ("puzzle", "puzzle_version", "kind", "plan"):
            if getattr(there, what) != getattr(manifest, what):
                text = f"run {there.run} has another {what.replace('_', ' ')} by the same name"
                raise MismatchError(text, Hint("change", "data"))
        waiting = ledger.limits() if (directory / QUEUED_FILE).exists() else {}
        ledger.stage_limits(job.merge_limits(limits or {}, ledger.state, waiting))
        ledger.commit(ledger.state.become("queued"))
        if queued:
            Given(directory).open(QUEUED_FILE, "a").close()
    return directory


def name_of_plan(spec: PuzzleSpec, puzzle: Puzzle, kind: str, plan: Mapping[str, Any]) -> str:
    """Return a name like other runs', but with six hexadecimal digits that follow from the run's identity."""
    identity = json.dumps([spec.as_dict(), puzzle.version, kind, plan], sort_keys=True)
    return f"{hashlib.sha256(identity.encode()).hexdigest()[:6]}-{puzzle.name}"


def open_job(store: RunStore, resources: Resources) -> Job:
    """Return the job of a run, by its manifest; raises as `pinned_puzzle` does."""
    puzzle, _ = pinned_puzzle(store, resources)
    return kind_of(store.manifest.kind)(store, puzzle)


def pinned_puzzle(store: RunStore, resources: Resources) -> tuple[Puzzle, PuzzleSpec]:
    """Build the puzzle of a run from its manifest, which checks the keys of the store from now on.

    Raises `MismatchError` if it differs from the pinned one, `DamagedError` if it cannot have such a run, and
    `OverBudgetError` if its tables take more memory than `resources` allow.
    """
    manifest = store.manifest
    spec = pinned_spec(manifest)
    if not kind_class(manifest.kind).may_be_of(spec.kind()):
        raise store.damaged(f"the puzzle {spec.name} has no runs of its kind, {manifest.kind}")
    try:
        resources = resources.over(manifest.settings)
        with limited_tables(resources.memory):
            puzzle = spec.build()
    except PuzzleError as error:
        raise MismatchError(f"run {manifest.run} cannot be continued: {error}", *error.hints) from error
    for what, pinned, here in (
        ("the puzzle's version", manifest.puzzle_version, puzzle.version),
        ("the parameters", dict(spec.options), kind_of(manifest.kind).identity(puzzle)),
        ("the key layout", manifest.layout, puzzle.layout.name),
    ):
        if pinned != here:
            raise MismatchError(
                f"run {manifest.run} was made with another puzzle: {what} was {pinned}, and is {here} here; "
                "use the Hakoiri that made it, or start a new run"
            )
    store.ranking = puzzle.ranking
    if manifest.plan.get("keep"):
        store.kept.require_in(store, numbers_of(puzzle) if puzzle.undirected else 0)
    if (shape := TableShape.of(store)) is not None:
        memory = max(LEAST_MEMORY, resources.budget().memory)
        shape.require_in(store, numbers_of(puzzle), 3 if store.kept.table else 2, memory)
    # A lost record of a layer is for `verify` and repairs.
    if (missing := store.state.depth - len(store.names(LAYERS))) > _MOST_LOST:
        raise store.damaged(f"the records of {missing:,} of its layers are missing")
    store.are_keys, store.are_starts = puzzle.are_keys, puzzle.are_starts
    store.expand = lambda keys: puzzle.expand(keys).successors
    return puzzle, spec


def pinned_spec(manifest: Manifest) -> PuzzleSpec:
    """Return the pinned puzzle of a manifest. `MismatchError` if a user puzzle's file is not loaded; loads none."""
    spec = PuzzleSpec.from_dict(manifest.puzzle)
    if spec.digest and not is_known(spec.name, spec.digest):
        text = f"its puzzle is {spec.name}, SHA-256 {spec.digest}, which was not named when this process started"
        raise MismatchError(f"run {manifest.run} cannot be opened: {text}", Hint("name file", spec.name))
    return spec


def require_puzzle(manifest: Manifest, named: PuzzleSpec) -> None:
    """Raise `MismatchError` if a resume names another puzzle than the run has; the message names both."""
    spec = PuzzleSpec.from_dict(manifest.puzzle)
    digests = (_digest_of(spec), _digest_of(named))
    _require(manifest, {"puzzle": (spec.name, named.name), "a puzzle file with the digest": digests})


def _digest_of(spec: PuzzleSpec) -> str:
    digest = hashlib.sha256(spec.definition.encode()).hexdigest() if spec.definition else spec.digest
    return digest[:12] or "none"


def require_same(manifest: Manifest, options: Mapping[str, str], start: str | None) -> None:
    """Raise `MismatchError` if a resume names other options or another start than the run has."""
    given: dict[str, tuple[Any, Any]] = {}
    spec = pinned_spec(manifest)
    if options:
        # Compare normal forms: a goal can be written in several ways.
        here = replace(spec, options={**spec.options, **options}).build().option_texts()
        given |= {name: (spec.options.get(name, "none"), here.get(name, "none")) for name in options}
    if start is not None:
        from hakoiri.puzzles.starts import Starts

        built = spec.build()
        board = built.render(built.start)
        if not spec.starts:
            given["start"] = (board, board if built.parse(start) == built.start else start)
        elif Starts(built, start).written() != spec.starts:
            given["starts"] = ("of its own", "others")
    _require(manifest, given)


def _require(manifest: Manifest, given: Mapping[str, tuple[Any, Any]]) -> None:
    for name, (pinned, wanted) in given.items():
        if pinned != wanted:
            raise MismatchError(
                f"run {manifest.run} has {name} {pinned}, and cannot resume with {wanted}; leave that "
                "out, or start a new run"
            )


@dataclass(frozen=True)
class Belonging:
    """The plan of a derived run: the name and digest of its base run, and a component of it."""

    base: str
    base_digest: str
    component: int = 0


class Derived:
    """The run of some kind derived from a finished `run` of a puzzle, whether it exists yet or not.

    `spec` is the puzzle if its options differ from those of the run.
    """

    def __init__(self, run: RunStore, puzzle: Puzzle, kind: str, spec: PuzzleSpec | None = None, **plan: Any) -> None:
        # If the run was collected from its hosts, its derived runs need no hosts either.
        hosted = run.keepers() and kind_of(kind).by_hosts(puzzle, plan)
        self._settings = {
            name: value for name, value in run.manifest.settings.items() if hosted or name not in ("hosts", "copies")
        }
        self._kind, self._plan = kind, plan_for(run) | plan
        self._spec, self._puzzle = spec or PuzzleSpec.from_dict(run.manifest.puzzle), puzzle
        self.directory = run.directory.parent / name_of_plan(self._spec, puzzle, kind, self._plan)

    def make(self, resources: Resources, queued: bool = False, **limits: Any) -> Path:
        """Create the run if it does not exist; return its directory. `RunHeldError` if a process drives it.

        It inherits the base run's settings for workers and memory.
        """
        # Without hosts there are no copies.
        settings = {name: value for name, value in self._settings.items() if resources.hosts != -1 or name != "copies"}
        resources = resources.over(settings)
        return make_run(self.directory.parent, self._spec, self._kind, self._plan, resources, queued, limits)

    @contextmanager
    def opened(self) -> Iterator[RunStore | None]:
        """Yield the run, open for reading, or ``None`` if it does not exist yet."""
        with RunStore(self.directory) if (self.directory / DATA_FILE).exists() else nullcontext() as store:
            if store is not None:
                store.are_keys = self._puzzle.are_keys
            yield store


def plan_for(run: RunStore) -> dict[str, Any]:
    """Return the part of a plan that names a finished `run` as the base."""
    return {"base": run.manifest.run, "base_digest": run.state.digest}


def require_base(plan: Mapping[str, Any], *others: str) -> None:
    """Raise `PuzzleError` unless the plan names a base run and has exactly the `others` besides."""
    base = plan.get("base")
    if set(plan) != {"base", "base_digest", *others} or not isinstance(base, str) or Path(base).name != base:
        raise PuzzleError(f"the plan {plan} lacks base and base_digest, which name the run that this one belongs to")


def open_base(store: RunStore, redis: str | None) -> RunStore:
    """Open the base run of `store`; `MismatchError` if it is gone or another one.

    `redis` is as for `open_store`.
    """
    plan, directory = store.plan(Belonging), store.directory.parent
    base = open_store(directory / Path(plan.base).name, redis)
    if base.state.digest != plan.base_digest or base.state.status != "complete":
        base.close()
        run = store.directory.name
        raise MismatchError(f"run {run} belongs to an earlier run called {plan.base}", Hint("delete", run))
    base.are_keys = store.are_keys
    return base
