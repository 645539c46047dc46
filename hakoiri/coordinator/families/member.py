"""One member of a study of sizes: a run by layers, and the distances between all its configurations."""

from pathlib import Path

from hakoiri.coordinator.errors import OverBudgetError, StopRun, UnanswerableError
from hakoiri.coordinator.executors.opening import open_context
from hakoiri.coordinator.graphs.distances import DistancePolicy
from hakoiri.coordinator.runs.create import make_planned, plan_run
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import ComputeContext, Control, Observer
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.names import DATA_FILE

_RUN = "member"
#: Sizes of layers, diameter, radius, pairs, digest.
Found = tuple[list[int], int | None, int | None, int | None, str]


def measure_member(data: Path, spec: PuzzleSpec, resources: Resources, control: Control, observer: Observer) -> Found:
    """Return the figures of a member's run by layers, resumed if it exists in `data`; `StopRun` by `control`."""
    directory = data / _RUN
    if not (directory / DATA_FILE).exists():
        make_planned(data, plan_run(data, spec, "explore", {}, resources, _RUN), False, None)
    _await_redis(resources, control, observer)
    state = drive(directory, resources, control, observer)
    if state.status != "complete":
        raise StopRun(state.status, state.reason)
    _await_redis(resources, control, observer)
    with RunStore(directory) as store, open_context(spec.build(), spec, resources, control, observer) as context:
        store.are_keys = context.puzzle.are_keys
        layers = [record.size for record in store.layer_records()]
        return layers, *_distances(context, store), store.state.digest


def _await_redis(resources: Resources, control: Control, observer: Observer) -> None:
    """Wait for Redis: each member makes connections of its own, and Redis may be unreachable at that time."""
    if resources.redis is not None:
        # Imported here, because redis takes a tenth of a second to import.
        from hakoiri.coordinator.executors.redis_retry import await_redis

        await_redis(resources.redis, resources.tuning.patience, control, observer)


def _distances(context: ComputeContext, store: RunStore) -> tuple[int | None, int | None, int | None]:
    """Return diameter, radius and pairs, by symmetry or else by searches; ``None`` if they exceed the memory."""
    try:
        found = DistancePolicy(store, context.puzzle, context.budget).measure(context, 0).record
    except (OverBudgetError, UnanswerableError) as error:
        context.observer.note(f"{error}; the diameter remains unknown", *error.hints)
        return None, None, None
    return found.diameter, found.radius, found.pair_count
