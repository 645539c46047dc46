"""`verify` of an exploration: its layers derived again, by the theory and not by the search.

By the triangle inequality a successor of a configuration in U(N) lies in U(N-1), U(N) or U(N+1) and nowhere else, and
each configuration of U(N) has a neighbour in U(N-1); of a directed puzzle it lies in one of the layers up to U(N+1),
and something in U(N-1) leads to each of U(N). Together with a start that is alone in U(0) this makes every layer
exactly what it claims to be. Successors come from the puzzle's plain Python rules, not from the kernel that made the
layers.
"""

from collections.abc import Iterator

import numpy as np

from coordinator.layers.search import Explored
from coordinator.session.verifier import Verifier, sample_places
from puzzles.keys.layout import Key, Keys, ints, key_at
from puzzles.keys.order import members
from storage.layers.digest import chain
from storage.ledger.manifest import Depth, Progress
from worker.layers.kernels import merge

#: Configurations looked at per layer, without `full`.
SAMPLE_PER_LAYER = 64
#: Configurations whose successors are looked up together: each lookup passes through the layers once.
_KEYS_AT_ONCE = 1 << 12


class LayersVerifier(Verifier):
    """The layers of an exploration against the rules of the puzzle."""

    def check(self) -> None:
        deepest = self._store.state.depth
        if deepest >= 0 and ints(self._store.layer(0)) != [self._puzzle.start]:
            self._report.fault("layer 0 is not the start alone")
        for depth in range(deepest + 1):
            for keys in self._samples(depth):
                for begin in range(0, len(keys), _KEYS_AT_ONCE):
                    self._control.check()
                    self._look_around(depth, ints(keys[begin : begin + _KEYS_AT_ONCE]))
                if depth and not self._puzzle.undirected:
                    self._look_back(depth, keys)
            self._observer.progress(Progress(depth + 1, deepest + 1, "layers derived again"))
        self._check_state()

    def _samples(self, depth: Depth) -> Iterator[Keys]:
        """The keys of a layer that are looked at, batch by batch."""
        size = self._store.layer_record(depth).size
        if self._full:
            yield from self._store.blocks(depth)
            return
        places = sample_places(size, SAMPLE_PER_LAYER, depth)
        begin, found = 0, []
        for block in self._store.blocks(depth):
            mine = places[(places >= begin) & (places < begin + len(block))] - begin
            begin += len(block)
            if len(mine):
                found.append(block[mine])
        if found:
            yield np.concatenate(found)

    def _look_around(self, depth: Depth, keys: list[Key]) -> None:
        """Every move from `keys` must end in a layer that the theory allows."""
        around = {key: set(self._puzzle.successors(key)) for key in keys}
        self._report.count("configurations", len(keys))
        self._report.count("successors", sum(map(len, around.values())))
        allowed, before = self._layers_near(depth, sorted(set().union(*around.values())))
        beyond = depth == self._store.state.depth and not Explored.of(self._store.state).exhausted
        for key, successors in around.items():
            if not beyond and (strays := successors - allowed):
                stray = min(strays)
                where = self._store.find(stray)
                place = "no layer" if where is None else f"layer {where}"
                self._report.fault(f"layer {depth}: {key:#x} leads to {stray:#x}, which is in {place}")
            if depth and self._puzzle.undirected and before.isdisjoint(successors):
                self._report.fault(f"layer {depth}: {key:#x} has no neighbour in layer {depth - 1}")

    def _layers_near(self, depth: Depth, found: list[Key]) -> tuple[set[Key], set[Key]]:
        """Which of the successors of layer `depth` lie in a layer where they may, and which in the layer before."""
        first = max(0, depth - 1) if self._puzzle.undirected else 0
        allowed: set[Key] = set()
        before: set[Key] = set()
        left = self._puzzle.keys(found)
        for other in range(min(depth + 1, self._store.state.depth), first - 1, -1):
            if not len(left):
                break
            near = self._store.contains(other, left)
            here = ints(left[near])
            allowed.update(here)
            before.update(here if other == depth - 1 else ())
            left = left[~near]
        return allowed, before

    def _look_back(self, depth: Depth, keys: Keys) -> None:
        """Of a directed puzzle: some configuration of the layer before must lead to each of `keys`."""
        for block in self._store.blocks(depth - 1):
            self._control.check()
            successors = merge([self._puzzle.expand(block).successors], [])
            keys = keys[~members(successors, keys)]
            if not len(keys):
                return
        self._report.fault(f"layer {depth}: nothing in layer {depth - 1} leads to {key_at(keys, 0):#x}")

    def _check_state(self) -> None:
        records = self._store.layer_records()
        state, found = self._store.state, Explored.of(self._store.state)
        if (total := sum(record.size for record in records)) != found.configurations:
            self._report.fault(f"the state counts {found.configurations} configurations, the layers have {total}")
        for record in records:
            goals = sum(int(np.count_nonzero(self._puzzle.is_goal(keys))) for keys in self._store.blocks(record.depth))
            if goals != record.goals:
                self._report.fault(f"layer {record.depth} has {goals} goals, its record says {record.goals}")
        nearest = next((record.depth for record in records if record.goals), None)
        if nearest != found.goal_depth:
            self._report.fault(f"the nearest goal is in layer {nearest}, the state says {found.goal_depth}")
        if state.status == "complete" and state.digest != chain(record.digest for record in records):
            self._report.fault("the digest of the run is not that of its layers")
