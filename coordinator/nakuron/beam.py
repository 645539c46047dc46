"""A beam search of Nakuron: layer by layer the best tilts of a frontier of boards, expanded in chunks by the workers.

Boards are compared by their points less a price for every ball that was lost through a hole of another colour: a part
of what it might have scored, had it stayed. docs/nakuron.md has the experiment that chose it. A board that is met again
is followed again only if it has more points than before.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coordinator.session.session import ComputeContext
from puzzles.nakuron.board import MOST_MOVES
from puzzles.nakuron.ground import Ground
from puzzles.nakuron.kernels import SIDES, Words
from worker.nakuron.tilting import Tilted, first_field
from worker.tasks import Arrays, do_task

Array = NDArray[Any]

#: What a ball lost costs, in points.
PRICE = 0.5
#: A beam ends when so many layers in turn have brought no better play.
_IDLE_LAYERS = 100
#: Fewer tilts than these are not worth sending.
_LEAST_TILTS = 16
#: A layer in which most boards are known is filled up from the next best tilts, so many times.
_REFILLS = 4
#: Every so many layers it is looked which of the boards met cannot come again.
_FORGET_LAYERS = 16
#: A frontier holds itself, the next one and the chunks on their way.
FRONTIERS_HELD = 4
_MIXERS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)


class Frontier(NamedTuple):
    """Boards side by side: their fields and digests, what each tilt would drop, points, lost balls, the last side."""

    fields: Words
    digests: Words
    right: NDArray[np.int32]
    total: NDArray[np.int32]
    points: NDArray[np.int64]
    lost: NDArray[np.int64]
    last: NDArray[np.int8]

    def none(self) -> "Frontier":
        """No boards."""
        arrays: list[Array] = [each[:0] for each in self]
        return Frontier(*arrays)


class Trail:
    """How each board of the frontier came about: by layer, the parent's place in the layer before, and the side."""

    def __init__(self, parents: list[NDArray[np.int32]], sides: list[NDArray[np.int8]]) -> None:
        self._parents, self._sides = parents, sides

    def __len__(self) -> int:
        return len(self._parents)

    def add(self, parents: Array, sides: Array) -> None:
        """The next layer."""
        self._parents.append(parents.astype(np.int32))
        self._sides.append(sides.astype(np.int8))

    def sequence(self, place: int) -> list[int]:
        """The sides that led to a board of the last layer."""
        found = []
        for parents, sides in zip(reversed(self._parents), reversed(self._sides), strict=True):
            found.append(int(sides[place]))
            place = int(parents[place])
        return found[::-1]

    def prune(self) -> None:
        """Forget the boards that nothing in the last layer came from; of old layers few are left."""
        for layer in range(len(self) - 1, 0, -1):
            used, self._parents[layer] = _renumbered(self._parents[layer])
            if len(used) == len(self._parents[layer - 1]):
                continue
            self._parents[layer - 1] = self._parents[layer - 1][used]
            self._sides[layer - 1] = self._sides[layer - 1][used]

    def arrays(self) -> dict[str, Array]:
        """For a checkpoint."""
        ends = np.cumsum([len(layer) for layer in self._parents], dtype=np.int64)
        if not len(self):
            return {"ends": ends, "parents": np.empty(0, dtype=np.int32), "sides": np.empty(0, dtype=np.int8)}
        return {"ends": ends, "parents": np.concatenate(self._parents), "sides": np.concatenate(self._sides)}

    @classmethod
    def of(cls, arrays: dict[str, Array]) -> "Trail":
        """The inverse of `arrays`."""
        ends = arrays["ends"][:-1]
        if not len(arrays["ends"]):
            return cls([], [])
        return cls(np.split(arrays["parents"], ends), np.split(arrays["sides"], ends))


def _renumbered(parents: NDArray[np.int32]) -> tuple[Array, NDArray[np.int32]]:
    used, numbers = np.unique(parents, return_inverse=True)
    return used, numbers.astype(np.int32)


class Beam:
    """A beam search under way, on a workshop. `points` and `sequence` are the best play that it has met."""

    def __init__(self, context: ComputeContext, ground: Ground, field: Words, balls: int, seed: int) -> None:
        """`seed` decides between boards that are worth the same."""
        self._context, self._ground, self._balls, self._seed = context, ground, balls, seed
        self.frontier = _first_frontier(first_field(field, ground))
        self.trail = Trail([], [])
        self.points, self.sequence, self.tilts = 0, list[int](), 0
        self._idle = 0
        self._met: dict[tuple[int, int], tuple[int, int]] = {}

    @property
    def depth(self) -> int:
        """How many moves the boards of the frontier have behind them."""
        return len(self.trail)

    @property
    def dropped(self) -> int:
        """How many balls the best board of the frontier has dropped."""
        return int(self.frontier.points[0] + self.frontier.lost[0]) if len(self.frontier.points) else self._balls

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to try, or no hope."""
        return not len(self.frontier.points) or self._idle >= _IDLE_LAYERS or self.depth >= MOST_MOVES

    def step(self, width: int) -> bool:
        """Replace the frontier by the best `width` boards that lead on from it; whether the best play is better now."""
        values, points, lost = self._values()
        order = np.argsort(-values, axis=None, kind="stable")
        order = order[np.isfinite(values.ravel()[order])]
        parts: list[tuple[Frontier, Array]] = []
        found, begin = 0, 0
        for _ in range(_REFILLS):
            chosen = order[begin : begin + width - found]
            begin += len(chosen)
            if len(chosen):
                parts.append(self._tilted(chosen, points.ravel()[chosen], lost.ravel()[chosen]))
                found += len(parts[-1][1])
        if not found:
            self.frontier = self.frontier.none()
            return False
        self.frontier = _joined([part for part, _ in parts])
        self.trail.add(np.concatenate([parents for _, parents in parts]), self.frontier.last)
        if self.depth % _FORGET_LAYERS == 0:
            self._forget()
        return self._look()

    def _values(self) -> tuple[Array, Array, Array]:
        """For each board and side what the board after it is worth, its points and its lost balls."""
        front = self.frontier
        points = front.points[:, None] + front.right
        lost = front.lost[:, None] + front.total - front.right
        values = points - PRICE * lost
        # Less than any difference that counts, and the same however the work is cut up.
        mixed = (front.digests[:, :1] ^ np.uint64(self._seed)) * _MIXERS[0] + np.arange(SIDES, dtype=np.uint64)
        mixed = (mixed ^ mixed >> np.uint64(32)) * _MIXERS[1]
        values += (mixed >> np.uint64(40)).astype(np.float64) * 2.0**-34
        # The same side once more changes nothing.
        again = np.flatnonzero(front.last >= 0)
        values[again, front.last[again]] = -np.inf
        return values, points, lost

    def _tilted(self, chosen: Array, points: Array, lost: Array) -> tuple[Frontier, Array]:
        """The boards after the tilts ``4 * place + side`` of `chosen`, the new ones among them, and their parents."""
        self.tilts += len(chosen)
        order = np.argsort(chosen, kind="stable")
        results: dict[int, list[Array]] = dict(self._spread(chosen[order]))
        tilted = Tilted(*(np.concatenate(each) for each in zip(*(results[n] for n in sorted(results)), strict=True)))
        back = np.empty(len(order), dtype=np.int64)
        back[order] = np.arange(len(order))
        fresh = self._fresh(tilted.digests[back], points, lost)
        kept = back[fresh]
        parents, sides = chosen[fresh] // SIDES, (chosen[fresh] % SIDES).astype(np.int8)
        fresh_ones = tilted.fields[kept], tilted.digests[kept], tilted.right[kept], tilted.total[kept]
        return Frontier(*fresh_ones, points[fresh], lost[fresh], sides), parents

    def _spread(self, chosen: Array) -> Iterator[tuple[int, list[Array]]]:
        """Tilts in increasing order, worked on in chunks of neighbouring boards."""
        executor = self._context.executor
        chunks = [self._chunk(part) for part in np.array_split(chosen, self._pieces(len(chosen)))]
        if len(chunks) == 1:
            yield 0, do_task("tilt", self._context.puzzle, chunks[0], self._ground)
        else:
            yield from executor.map("tilt", chunks, self._ground)

    def _pieces(self, tilts: int) -> int:
        most = self._context.executor.workers * (2 if self._context.remote_workers else 1)
        return max(1, min(most, tilts // _LEAST_TILTS))

    def _chunk(self, chosen: Array) -> Arrays:
        places = chosen // SIDES
        first = int(places[0]) if len(places) else 0
        last = int(places[-1]) + 1 if len(places) else 0
        return [self.frontier.fields[first:last], places - first, (chosen % SIDES).astype(np.uint8)]

    def _fresh(self, digests: Words, points: Array, lost: Array) -> Array:
        """The places of those boards that are new, or were met with fewer points only."""
        fresh = []
        for place, (one, other) in enumerate(digests.tolist()):
            score = int(points[place])
            before = self._met.get((one, other))
            if before is None or before[0] < score:
                self._met[one, other] = score, score + int(lost[place])
                fresh.append(place)
        return np.array(fresh, dtype=np.int64)

    def _forget(self) -> None:
        """Of the boards met, those that have more balls than any in the frontier cannot come again."""
        least = int((self.frontier.points + self.frontier.lost).min())
        self._met = {digest: figures for digest, figures in self._met.items() if figures[1] >= least}

    def _look(self) -> bool:
        """Note the best play."""
        best = int(np.argmax(self.frontier.points))
        better = int(self.frontier.points[best]) > self.points
        if better:
            self.points, self.sequence = int(self.frontier.points[best]), self.trail.sequence(best)
        self._idle = 0 if better else self._idle + 1
        return better

    # Checkpoints

    def arrays(self) -> dict[str, Array]:
        """All that another process needs to go on."""
        self.trail.prune()
        digests = np.array(list(self._met), dtype=np.uint64).reshape(-1, 2)
        met = np.array(list(self._met.values()), dtype=np.int64).reshape(-1, 2)
        figures = np.array([self.points, self.tilts, self._idle], dtype=np.int64)
        own: dict[str, Array] = {
            "figures": figures,
            "sequence": np.array(self.sequence, dtype=np.uint8),
            "digests_met": digests,
            "met": met,
        }
        return {**own, **dict(zip(Frontier._fields, self.frontier, strict=True)), **self.trail.arrays()}

    def go_on_from(self, arrays: dict[str, Array]) -> None:
        """Be where `arrays` say; ``KeyError`` or ``ValueError`` if they are not of a beam."""
        self.points, self.tilts, self._idle = arrays["figures"].tolist()
        self.sequence = arrays["sequence"].tolist()
        keys = map(tuple, arrays["digests_met"].tolist())
        self._met = dict(zip(keys, map(tuple, arrays["met"].tolist()), strict=True))
        self.frontier = Frontier(*(arrays[name] for name in Frontier._fields))
        self.trail = Trail.of(arrays)


def _joined(parts: list[Frontier]) -> Frontier:
    return Frontier(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _first_frontier(tilted: Tilted) -> Frontier:
    nothing = np.zeros(1, dtype=np.int64)
    return Frontier(*tilted, nothing, nothing.copy(), np.array([-1], dtype=np.int8))
