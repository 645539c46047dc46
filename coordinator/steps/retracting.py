"""A layer of what leads to the layer before it, among the configurations of another run: by moves backwards.

These lead to many configurations that the run has not found. A filter takes off most of them (`worker.layers.bloom`);
each key range of what is left is compared with that range of the run. So a layer costs a look at all keys of the run,
decoded, but no expansion of what is not in the layer before.
"""

from hakoiri.coordinator.session.resources import Shares
from hakoiri.coordinator.session.session import Session
from hakoiri.coordinator.steps.pace import Pace
from hakoiri.coordinator.steps.sifting import Sieve, SiftingStep, StoredRun
from hakoiri.coordinator.steps.window import Layer, StoredLayer, all_keys
from hakoiri.puzzles.capabilities import Reversible
from hakoiri.puzzles.keys.layout import Key, Keys
from hakoiri.storage.layers.bitmap import Words
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.worker.layers.bloom import may_hold
from hakoiri.worker.layers.halves import Found, Work
from hakoiri.worker.layers.kernels import merge
from hakoiri.worker.tasks import Arrays


class RetractingStep(SiftingStep):
    """The making of layer `depth`: those of `run` that lead to layer `depth` - 1, which is stored, less `known`."""

    def __init__(self, session: Session, depth: Depth, run: StoredRun, known: list[Layer], pace: Pace) -> None:
        size = session.store.layer_record(depth - 1).size
        before = StoredRun([StoredLayer(session.store, depth - 1, size)])
        super().__init__(session, depth, before, Sieve("before"), known, pace)
        self._run = run
        # No keys are compared with a part of others.
        self._part = 0

    @property
    def _moves(self) -> float:
        return self._puzzle.most_successors + self._branching

    def _targets(self, begin: int) -> Arrays:
        return [run_filter(self._run, self._shares)]

    def _unknown(self, keys: Keys) -> Keys:
        return keys

    def _work(self, found: Found, low: Key, high: Key, keep: bool) -> Work:
        return super()._work(found, low, high, keep)._replace(within=self._run.between(low, high))


def run_filter(run: StoredRun, shares: Shares) -> Words:
    """What most of that is not in the run is told by, before it is sorted."""
    return run.filter(shares.free // 4)


def small_step_back(puzzle: Reversible, current: Layer, run: StoredRun, known: list[Layer], shares: Shares) -> Keys:
    """The same at once, and here; `current` is the layer before."""
    before = puzzle.retract(all_keys(current)).successors
    keys = merge([before[may_hold(run_filter(run, shares), before)]], [])
    for layer in known:
        keys = layer.exclude_from(keys)
    return run.among(keys)
