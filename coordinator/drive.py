"""A run's life: made, driven from its last commit, left in a state that says how it ended."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import psutil

from coordinator.budget import Budget
from coordinator.census import Census
from coordinator.control import Control, Observer, SilentObserver
from coordinator.errors import ContradictionError, MismatchError, StopRun
from coordinator.explore import Exploration
from coordinator.repair import repair_run
from coordinator.runs import new_run_name
from coordinator.session import Session, Workshop
from coordinator.threads import ThreadExecutor
from coordinator.tree import TreeSearch
from puzzles.contract import Puzzle
from puzzles.errors import PuzzleError
from puzzles.guard import try_out
from puzzles.jit import prepare
from puzzles.own import configured_files, find_again, known
from puzzles.registry import PuzzleSpec, puzzle_class, with_own_file
from puzzles.symmetry import MergedMirrors
from puzzles.tree import Tree
from storage.environment import refuse_network_file_system
from storage.errors import StorageError
from storage.layout import FORMAT_VERSION, QUEUED_FILE
from storage.ledger import create_run
from storage.lock import RunLock
from storage.manifest import ENDED, Manifest, Mode, State, Status
from storage.probe import require_sound
from storage.store import RunStore
from worker.errors import TaskError
from worker.warm import load_graph_kernels, load_search_kernels

#: What a user is told before kernels that are not on disk are compiled.
PREPARING = "preparing the kernels: they are compiled, which takes some seconds, and kept for the next time"
#: Among a manifest's settings: where the file of a puzzle of one's own was when the run was made.
_OWN_FILE = "puzzle_file"


_SEARCHES: Mapping[Mode, type[Exploration] | type[Census] | type[TreeSearch]] = {
    "explore": Exploration,
    "whole": Census,
    "tree": TreeSearch,
}


@dataclass(frozen=True)
class Ways:
    """How to drive a run: nothing of this changes its result.

    `redis` is a URL, or ``None`` for threads in this process. `workers` is the number of threads, by default one per
    core; with Redis, that of worker processes to start for this run, by default none. `memory` is in bytes, by default
    half of what is free; `chunk` and `farm_from` in configurations (`coordinator.budget`); `deadline` in seconds, after
    which a chunk is given to another worker as well.
    """

    redis: str | None = None
    workers: int | None = None
    memory: int | None = None
    chunk: int | None = None
    farm_from: int | None = None
    deadline: float | None = None

    def lasting(self) -> dict[str, Any]:
        """What a manifest keeps for whoever drives the run.

        Not the Redis URL, which may hold a password, nor the workers, which mean threads here and processes there.
        """
        return {
            name: value
            for name, value in asdict(self).items()
            if value is not None and name not in ("redis", "workers")
        }

    def over(self, kept: Mapping[str, Any]) -> "Ways":
        """These ways, and where they say nothing, those that a manifest kept."""
        names = {entry.name for entry in fields(self)}
        chosen = {name: value for name, value in asdict(self).items() if value is not None}
        return Ways(**{name: value for name, value in kept.items() if name in names} | chosen)

    def budget(self) -> Budget:
        """Memory and chunks."""
        memory = self.memory if self.memory is not None else psutil.virtual_memory().available // 2
        return Budget(memory, self.chunk, self.farm_from)


def make_run(data: Path, spec: PuzzleSpec, mode: Mode, until_goal: bool, ways: Ways, queued: bool = False) -> Path:
    """The directory of a new run in state queued. Checks the puzzle and its options; durable on return.

    Runs the file of a puzzle of one's own, which the user has named.
    """
    spec = with_own_file(spec)
    if issubclass(puzzle_class(spec.name, spec.digest), Tree):
        _check_tree(spec, mode, until_goal)
        mode = "tree"
    if mode == "whole":
        _check_whole(spec, until_goal)
    puzzle = spec.build()
    if mode == "whole" and not puzzle.undirected:
        # What a census stores of a component are distances between all its configurations: here there are none.
        raise PuzzleError(
            f"{puzzle.name} is directed, and --whole measures components whose configurations all lead to each other: "
            "leave out --whole, then ask 'hakoiri components last --strong'"
        )
    kept = ways.lasting()
    if spec.digest:
        try_out(puzzle)
        kept[_OWN_FILE] = str(known(spec.name, spec.digest).path)
    run = new_run_name(data, puzzle.name)
    # The start is pinned in full, so that a later change of a puzzle's usual start cannot change the run.
    # Where mirrors are merged it is the user's own start, not the least of its images.
    base = puzzle.base if isinstance(puzzle, MergedMirrors) else puzzle
    pinned = replace(spec, options=puzzle.parameters, start=_text_of_start(base))
    manifest = Manifest(
        FORMAT_VERSION, run, time.strftime("%Y-%m-%d %H:%M:%S"), pinned.as_dict(), puzzle.version,
        puzzle.layout.name, mode, until_goal, kept,
    )  # fmt: skip
    refuse_network_file_system(data)
    return create_run(data, manifest, queued)


def _check_tree(spec: PuzzleSpec, mode: Mode, until_goal: bool) -> None:
    """`PuzzleError` for ways to ask for a tree that make no sense."""
    asked = {"--whole": mode == "whole", "--until-goal": until_goal, "--from": spec.start is not None}
    for option in (name for name, given in asked.items() if given):
        raise PuzzleError(f"{spec.name} counts every solution, from the empty figure: leave out {option}")


def _check_whole(spec: PuzzleSpec, until_goal: bool) -> None:
    """`PuzzleError` for a census that makes no sense."""
    puzzle = puzzle_class(spec.name, spec.digest)
    if until_goal:
        raise PuzzleError("--whole counts every configuration, to no goal: leave out --until-goal")
    if spec.start is not None and not puzzle.start_is_board:
        raise PuzzleError("--whole counts every configuration, from no start: leave out --from")
    if spec.start is None and puzzle.start_is_board:
        raise PuzzleError(f"{puzzle.name} --whole counts every configuration of a board: name it with --from BOARD")
    if puzzle.configurations is Puzzle.configurations:
        raise PuzzleError(f"{puzzle.name} cannot list its whole space; leave out --whole")


def _text_of_start(puzzle: Puzzle) -> str:
    """The start as a text that leads back to it, a key where the puzzle draws texts that it does not read."""
    text = puzzle.start_text()
    with suppress(PuzzleError):
        if puzzle.parse(text) == puzzle.start:
            return text
    return f"{puzzle.start:#x}"


def drive(
    directory: Path, ways: Ways, control: Control, observer: Observer, repair: bool = False, awaited: bool = False
) -> State:
    """Drive a run to its end, or until `control` stops it; returns its last state. Resumes whatever is there.

    With `awaited` only a run that still carries its mark is driven: somebody may have cancelled it since.

    Raises `RunHeldError` if somebody else drives it, `MismatchError` if this program would do something else than the
    run was begun with, `DamagedError` for damaged layers (unless `repair`, which computes them again first); storage,
    Redis, budget and puzzle errors leave the run interrupted or failed, saying why, with all committed layers.
    """
    with RunLock(directory):
        require_sound(directory)
        with RunStore(directory, writable=True) as store:
            try:
                gone = awaited and (store.state.status in ENDED or not (directory / QUEUED_FILE).exists())
                if not gone and (store.state.status != "complete" or repair):
                    puzzle, spec = pinned_puzzle(store)
                    _prepare(store, puzzle, observer)
                    _session(store, puzzle, spec, ways.over(store.manifest.settings), control, observer, repair)
            finally:
                if store.state.status in ENDED:
                    (directory / QUEUED_FILE).unlink(missing_ok=True)
            return store.state


def _prepare(store: RunStore, puzzle: Puzzle, observer: Observer) -> None:
    """Bring every kernel into this process before the clock of the run starts."""
    refuse_network_file_system(store.directory)

    def load() -> None:
        load_search_kernels(puzzle)
        if store.manifest.mode == "whole":
            load_graph_kernels(puzzle)

    prepare(load, lambda: observer.note(PREPARING))


def pinned_puzzle(store: RunStore) -> tuple[Puzzle, PuzzleSpec]:
    """The puzzle of a run, built anew. `MismatchError` if it is not what the run was begun with."""
    manifest = store.manifest
    spec = _pinned_spec(manifest)
    try:
        puzzle = spec.build()
    except PuzzleError as error:
        raise MismatchError(f"run {manifest.run} cannot be continued: {error}") from error
    for what, pinned, here in (
        ("the puzzle's version", manifest.puzzle_version, puzzle.version),
        ("the parameters", dict(spec.options), puzzle.parameters),
        ("the key layout", manifest.layout, puzzle.layout.name),
    ):
        if pinned != here:
            raise MismatchError(
                f"run {manifest.run} was begun with another puzzle: {what} was {pinned}, here it is {here}; "
                "use the Hakoiri that began it, or start a new run"
            )
    return puzzle, spec


def _pinned_spec(manifest: Manifest) -> PuzzleSpec:
    """What a run was begun with, the file of a puzzle of one's own loaded again; `MismatchError` if it is gone."""
    spec = PuzzleSpec.from_dict(manifest.puzzle)
    if spec.digest:
        try:
            find_again(spec.name, spec.digest, str(manifest.settings.get(_OWN_FILE, "")))
        except PuzzleError as error:
            raise MismatchError(f"run {manifest.run} cannot be opened: {error}") from error
    return spec


def require_same(manifest: Manifest, options: Mapping[str, str], puzzle: str | None, start: str | None) -> None:
    """Raise `MismatchError` if a resume names another puzzle, option or start than the run has; says which."""
    spec = PuzzleSpec.from_dict(manifest.puzzle)
    named = with_own_file(PuzzleSpec(puzzle)) if puzzle is not None else spec
    given: dict[str, tuple[Any, Any]] = {name: (spec.options.get(name), value) for name, value in options.items()}
    given["puzzle"] = (spec.name, named.name)
    given["a puzzle file with the digest"] = (spec.digest[:12] or "none", named.digest[:12] or "none")
    if start is not None:
        built = _pinned_spec(manifest).build()
        given["start"] = (built.render(built.start), built.render(built.parse(start)))
    for name, (pinned, wanted) in given.items():
        if pinned != wanted:
            raise MismatchError(
                f"run {manifest.run} has {name} {pinned}, the resume names {wanted}; leave that out, or start a new run"
            )


def _session(
    store: RunStore, puzzle: Puzzle, spec: PuzzleSpec, ways: Ways, control: Control, observer: Observer, repair: bool
) -> None:
    """One process's time with a run: whatever happens, the state on disk says it, as far as the disk allows."""
    control.watch(store.cancel_requested)
    store.commit(replace(store.state, status="running", reason="", session=store.state.session + 1))
    try:
        with open_workshop(puzzle, spec, ways, control, observer) as workshop:
            session = Session(store, workshop, control, observer)
            if repair:
                repair_run(session)
            _SEARCHES[store.manifest.mode](session).run()
    except StopRun as stop:
        store.commit(replace(store.state, status=stop.status, reason=stop.reason))
    except (ContradictionError, PuzzleError, TaskError) as error:
        _leave(store, "failed", error)
        raise
    except Exception as error:
        _leave(store, "interrupted", error)
        raise


def _leave(store: RunStore, status: Status, error: Exception) -> None:
    """Write down how a session ended; where even that cannot be written, the lock that goes says interrupted."""
    if store.poisoned:
        return
    store.discard_staged()
    with suppress(StorageError):
        store.commit(replace(store.state, status=status, reason=str(error)))


@contextmanager
def open_workshop(
    puzzle: Puzzle, spec: PuzzleSpec, ways: Ways, control: Control, observer: Observer
) -> Iterator[Workshop]:
    """The executor that `ways` ask for, with the worker processes that belong to it, while the block runs."""
    budget = ways.budget()
    threads = cores() if ways.redis is not None else ways.workers or cores()
    with closing(ThreadExecutor(puzzle, threads, control)) as home:
        shares = budget.shares(puzzle, threads)
        if ways.redis is None:
            yield Workshop(puzzle, home, home, budget, shares)
            return
        # Here, because rq takes a tenth of a second to import.
        from coordinator.farm import FarmExecutor
        from worker.connection import connect
        from worker.supervisor import supervised

        connection = connect(ways.redis)
        farm = FarmExecutor(ways.redis, connection, puzzle, spec, control, observer, shares.free // 4, ways.deadline)
        with closing(farm), supervised(ways.redis, ways.workers or 0, observer.note, _own_files(spec)):
            yield Workshop(puzzle, farm, home, budget, shares)


def _own_files(spec: PuzzleSpec) -> list[Path]:
    """The puzzle files that a run's own workers load."""
    return [known(spec.name, spec.digest).path, *configured_files()] if spec.digest else []


@contextmanager
def query_workshop(puzzle: Puzzle) -> Iterator[Workshop]:
    """Threads of this process, for questions that need some computing."""
    with open_workshop(puzzle, PuzzleSpec(puzzle.name), Ways(), Control(), SilentObserver()) as workshop:
        yield workshop


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
