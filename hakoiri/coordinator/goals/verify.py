"""`verify` of goal distances: each derived again from those of the successors, by the reference rules.

A configuration that is no goal is N moves from its nearest one if it leads to one that is N - 1 moves from a goal, and
to none that is nearer. In an undirected puzzle it leads to the layers N - 1, N and N + 1 alone. Configurations that
stand in no layer must not lead to one that does.
"""

from itertools import chain

import numpy as np

from hakoiri.coordinator.goals.search import GoalFigures
from hakoiri.coordinator.layers.passed import common
from hakoiri.coordinator.layers.verify import LayersVerifier
from hakoiri.coordinator.runs.belonging import open_base
from hakoiri.puzzles.keys.layout import Keys, key_at
from hakoiri.puzzles.keys.order import members
from hakoiri.storage.layers.scratch import scratch_store
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import LayerRecord
from hakoiri.worker.exchange.closed_set import ClosedSet
from hakoiri.worker.layers.kernels import merge
from hakoiri.worker.plain import Array

#: Configurations of the run looked at, without `full`, for those that lead to no goal.
_SAMPLE = 2_000


class DistancesVerifier(LayersVerifier):
    """The layers of goal distances against the rules of the puzzle and the run that they are of."""

    def check(self) -> None:
        self._deepest, self._passed = self.store.state.depth, None
        with open_base(self.store, self.context.redis) as base, scratch_store(self.store) as scratch:
            shares, once = self.context.shares, self.context.tuning.merged_at_once
            self._nearer = ClosedSet(scratch, 0, shares, once, lambda: scratch.commit(scratch.state))
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
            if len(near := distinct[~members(self._without_layers(distinct), distinct)]):
                key = key_at(keys, owners[members(near, successors)][0])
                self.report.fault(f"layer {depth}: {key:#x} leads to {key_at(near, 0):#x}, which is nearer to a goal")
            leading = members(common(distinct, self._stored(depth - 1)), successors)
            alone = np.flatnonzero(np.bincount(owners[leading], minlength=len(keys)) == 0)
            if len(alone):
                self.report.fault(f"layer {depth}: {key_at(keys, alone[0]):#x} leads to nothing in layer {depth - 1}")

    def _without_layers(self, keys: Keys) -> Keys:
        """Those of some increasing keys that stand in none of the layers passed."""
        for layer in self._nearer.layers():
            keys = layer.exclude_from(keys)
        return keys

    def _check_nearest_goal(self, records: list[LayerRecord]) -> None:
        """No depth of a goal is kept: all are in layer 0, which is looked at by itself."""

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
        for keys in self.sampled(blocks, sum(record.size for record in records), _SAMPLE, 0):
            self.control.check()
            left = self._without_layers(keys)
            dead += len(left)
            for batch in self._in_batches([left], len(left)):
                self._report_way_out(*batch)
        if self.full and dead != found.dead:
            self.report.fault(f"{dead} configurations are in no layer, but {found.dead} in the state")

    def _report_way_out(self, keys: Keys, successors: Keys, counts: Array) -> None:
        distinct = merge([successors], [])
        if len(out := distinct[~members(self._without_layers(distinct), distinct)]):
            key = key_at(keys, np.repeat(np.arange(len(keys)), counts)[members(out, successors)][0])
            self.report.fault(f"{key:#x} is in no layer, but leads to {key_at(out, 0):#x}, which is in one")
