"""Runs of goal distances: made for another run, whose name and digest they pin, found from it, asked and verified.

A configuration that is no goal is N moves from its nearest one if it leads to one that is N - 1 moves from a goal, and
to none that is nearer. In an undirected puzzle it leads to the layers N - 1, N and N + 1 alone. Configurations that
stand in no layer must not lead to one that does.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakoiri.coordinator.goals.search import GoalFigures, GoalSearch
from hakoiri.coordinator.layers.job import layer_summary
from hakoiri.coordinator.layers.search import ExplorePlan, search_to_end
from hakoiri.coordinator.layers.verify import LayersVerifier, forget_layers, key_set
from hakoiri.coordinator.runs.create import Derived, open_base, require_base
from hakoiri.coordinator.runs.opening import open_store
from hakoiri.coordinator.session.job import Job
from hakoiri.coordinator.session.kind import HardestKind
from hakoiri.coordinator.session.resources import Budget
from hakoiri.coordinator.session.session import Session
from hakoiri.keys.layout import Keys, key_at
from hakoiri.keys.order import lower_bounds, members
from hakoiri.puzzles.capabilities import Reversible
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.audit import check_layer
from hakoiri.storage.layers.store import RunStore, inside, outside, scratch_store
from hakoiri.storage.names import DATA_FILE
from hakoiri.worker.layers.kernels import merge
from hakoiri.worker.transport.payload import Array

KIND = "hardest"
#: The option of a puzzle that defines one move.
METRIC = "metric"


def distances_run(run: RunStore, puzzle: Puzzle, metric: str = "") -> Derived:
    """The run that holds the goal distances of a finished `run`; moves are counted by `metric`, or as in the run.

    `PuzzleError` if the puzzle knows no such metric.
    """
    spec = PuzzleSpec.from_dict(run.manifest.puzzle)
    if metric:
        spec = replace(spec, options={**spec.options, METRIC: metric})
        # As a run of it pins them.
        spec = replace(spec, options=spec.build().option_texts())
    return Derived(run, puzzle, KIND, spec)


class GoalDistances:
    """The goal distances of a run, all of them known; `store` is the open run that holds them."""

    def __init__(self, store: RunStore) -> None:
        self.store = store

    @classmethod
    def open(cls, run: RunStore, puzzle: Puzzle, metric: str, redis: str | None) -> "GoalDistances | None":
        """Return the goal distances of a run if they are complete, else ``None``; `redis` is as for `open_store`."""
        directory = distances_run(run, puzzle, metric).directory
        if not (directory / DATA_FILE).exists():
            return None
        store = open_store(directory, redis)
        if store.state.status == "complete":
            return cls(store)
        store.close()
        return None

    def of(self, keys: Keys) -> NDArray[np.int64]:
        """The distance of each key in moves; -1 if no goal can be reached, or the run has not found it.

        Costs a block decoded per layer for a few keys.
        """
        distinct = merge([keys], [])
        return self.store.depths_of(distinct)[lower_bounds(distinct, keys)]


#: Sample size, without `full`, of the check that dead configurations reach no goal.
_SAMPLE = 2_000


class DistancesVerifier(LayersVerifier):
    """The layers of goal distances against the rules of the puzzle and the run that they are of."""

    # All goals are in layer 0, which is looked at by itself.
    _has_nearest_goal = False

    def check(self) -> None:
        self._deepest, self._older, self._reached = self.store.state.depth, None, None
        with open_base(self.store, self.context.redis) as base, scratch_store(self.store) as scratch:
            self._nearer = key_set(scratch, self.context)
            for depth in self.each(range(self._deepest + 1), "layers derived again"):
                for keys, successors, counts in self._derived(depth):
                    self._compare(depth, keys, successors, counts)
                if depth:
                    self._nearer.add(depth - 1, self._stored(depth - 1))
            if self._deepest >= 0:
                self._check_goals(base)
                self._nearer.add(self._deepest, self._stored(self._deepest))
            if GoalFigures.of(self.store.state).exhausted:
                self._check_dead(base)
        self._check_state()

    def _compare(self, depth: int, keys: Keys, successors: Keys, counts: Array) -> None:
        if self.puzzle.undirected:
            super()._compare(depth, keys, successors, counts)
        elif depth:
            owners, distinct = np.repeat(np.arange(len(keys)), counts), merge([successors], [])
            if len(near := inside(distinct, self._nearer.layers())):
                key = key_at(keys, owners[members(near, successors)][0])
                self.report.fault(f"layer {depth}: {key:#x} leads to {key_at(near, 0):#x}, which is nearer to a goal")
            if len(alone := self._alone(depth - 1, distinct, successors, counts)):
                self.report.fault(f"layer {depth}: {key_at(keys, alone[0]):#x} leads to nothing in layer {depth - 1}")

    def _check_goals(self, base: RunStore) -> None:
        """Layer 0 must be the goals of the run, all of them."""
        first, holding = self.store.layer_record(0), [each for each in base.layer_records() if each.goals]
        if first.goals != first.size:
            self.report.fault(f"layer 0 has {first.size - first.goals} configurations that are not goals")
        if first.size != (goals := sum(record.goals for record in holding)):
            self.report.fault(f"layer 0 has {first.size} goals, expected the {goals} of run {base.directory.name}")
        for keys in self._samples(0):
            there = [base.contains(record.depth, keys) for record in holding]
            if len(strays := keys[~np.any(there, axis=0)]):
                self.report.fault(f"goal {key_at(strays, 0):#x} is not in run {base.directory.name}")

    def _check_dead(self, base: RunStore) -> None:
        """Check that the configurations in no layer lead to no layer, and that their number is that of the state."""
        found, dead = GoalFigures.of(self.store.state), 0
        records = base.layer_records()
        blocks = chain.from_iterable(base.blocks(record.depth) for record in records)
        for some in self.sampled(blocks, sum(record.size for record in records), _SAMPLE, 0):
            self.control.check()
            left = outside(some, self._nearer.layers())
            dead += len(left)
            for keys, successors, counts in self._in_batches([left], len(left)):
                distinct = merge([successors], [])
                if len(out := inside(distinct, self._nearer.layers())):
                    key = key_at(keys, np.repeat(np.arange(len(keys)), counts)[members(out, successors)][0])
                    self.report.fault(f"{key:#x} is in no layer, but leads to {key_at(out, 0):#x}, which is in one")
        if self.full and dead != found.dead:
            self.report.fault(f"{dead} configurations are in no layer, but {found.dead} in the state")


class HardestJob(Job):
    """The distance of every configuration of a run to its nearest goal: layers by distance."""

    named_by_plan = several_starts = True
    figures = GoalFigures
    parameters = HardestKind
    verifier = f"{__name__}:DistancesVerifier"
    facts = (
        "distances of: base", "goals", "farthest: {distance:moves} from a goal", "count",
        "no goal reachable: dead_ends",
    )  # fmt: skip

    @classmethod
    def by_hosts(cls, puzzle: Puzzle, plan: Mapping[str, Any]) -> bool:
        # Else its layers are filtered out of all that is left.
        return puzzle.undirected or isinstance(puzzle, Reversible)

    @classmethod
    def validate(cls, spec: PuzzleSpec, plan: Mapping[str, Any]) -> Puzzle:
        require_base(plan)
        return spec.build()

    def is_done(self) -> bool:
        return GoalFigures.of(self.store.state).exhausted

    def work(self, session: Session) -> None:
        before = self.store.state.digest
        with open_base(self.store, session.context.redis) as base:
            search_to_end(session, GoalSearch(session, base), ExplorePlan())
        if before not in ("", self.store.state.digest):
            raise self.store.damaged("its recomputed layers differ from the stored ones")

    def repair(self, session: Session) -> None:
        """Forget the first damaged layer and all after it, so that they are computed again."""
        store, last = session.store, session.store.state.depth
        damaged = (depth for depth in range(last + 1) if list(check_layer(store, depth)))
        first = next(damaged, last + 1)
        session.observer.note(f"computing the layers from {first} on again" if first <= last else "no layer is damaged")
        forget_layers(session, first, GoalFigures)

    def summary(self, budget: Budget) -> dict[str, Any]:
        records = self.store.layer_records()
        last = records[-1] if records else None
        farthest = {"distance": last and last.depth, "count": last and last.size}
        return layer_summary(records) | farthest

    @property
    def dead_ends(self) -> int | None:
        return GoalFigures.of(self.store.state).dead or None

    def questions(self) -> list[str]:
        return ["hardest"]
