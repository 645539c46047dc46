"""A beam search of a scored puzzle: layer by layer the best moves of a frontier of boards, made in chunks.

The value of a board is its points less a price for the points lost: those that moves took off the reserve without
scoring them. docs/how-to/nakuron.md describes the experiment that chose the price. A board that is met again is
followed again only if it has more points than before.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.coordinator.session.session import ComputeContext
from hakoiri.guests.nakuron.kind import PRICE
from hakoiri.guests.nakuron.moving import Moved, SeenBoards, Words
from hakoiri.guests.nakuron.scored import Arena, Scored
from hakoiri.worker.tasks import Sizes, do_task, wrong_array
from hakoiri.worker.transport.payload import Arrays

Array = NDArray[Any]

#: The parts of a rising price: at first, and the increase until the reserve is used up.
_RISES_FROM, _RISES_BY = 0.7, 0.5
#: A beam ends when this many layers in a row have brought no better play.
_IDLE_LAYERS = 100
#: Fewer moves than these are not worth sending.
_LEAST_MOVES = 16
#: The most bytes of the boards of a chunk: a stop waits until each thread has made one.
_CHUNK_BYTES = 8 << 20
#: A layer in which most boards are known is filled up from the next best moves, at most this many times.
_REFILLS = 4
#: The number of layers between removals of seen boards that cannot recur, and of dead ends in the trail.
_FORGET_LAYERS = 16
#: The memory of a frontier, in frontiers: itself, the next one and the chunks in flight.
_FRONTIERS_HELD = 4
#: One part in this many of the memory is for seen boards; and the extra bytes of a board, and of each of its moves.
_MET_PART = 4
_BYTES_OF_BOARD, _BYTES_OF_MOVE = 200, 80
_MIXERS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)


class Frontier(NamedTuple):
    """An array of boards, in the format of `Moved`, each with its points and the points it has lost."""

    boards: Array
    digests: Words
    gains: NDArray[np.int32]
    takes: NDArray[np.int32]
    points: NDArray[np.int64]
    lost: NDArray[np.int64]

    def none(self) -> "Frontier":
        arrays: list[Array] = [each[:0] for each in self]
        return Frontier(*arrays)


def most_width(arena: Arena, puzzle: Scored, memory: int) -> int:
    """Return the widest beam that fits the memory."""
    board = _FRONTIERS_HELD * arena.first.nbytes + _BYTES_OF_BOARD + puzzle.most_successors * _BYTES_OF_MOVE
    return max(1, (memory - memory // _MET_PART) // board)


class Trail:
    """The origin of each board of the frontier: by layer, the parent's index in the layer before, and the move."""

    def __init__(self, parents: list[NDArray[np.int32]], moves: list[NDArray[np.uint16]]) -> None:
        self._parents, self._moves = parents, moves

    def __len__(self) -> int:
        return len(self._parents)

    def add(self, parents: Array, moves: Array) -> None:
        self._parents.append(parents.astype(np.int32))
        self._moves.append(moves.astype(np.uint16))

    def sequence(self, place: int) -> list[int]:
        """Return the moves that led to a board of the last layer."""
        found = []
        for parents, moves in zip(reversed(self._parents), reversed(self._moves), strict=True):
            found.append(int(moves[place]))
            place = int(parents[place])
        return found[::-1]

    def prune(self) -> None:
        """Remove the boards without descendants in the last layer; few boards of old layers remain."""
        for layer in range(len(self) - 1, 0, -1):
            used, numbers = np.unique(self._parents[layer], return_inverse=True)
            self._parents[layer] = numbers.astype(np.int32)
            if len(used) == len(self._parents[layer - 1]):
                continue
            self._parents[layer - 1] = self._parents[layer - 1][used]
            self._moves[layer - 1] = self._moves[layer - 1][used]

    def arrays(self) -> dict[str, Array]:
        ends = np.cumsum([len(layer) for layer in self._parents], dtype=np.int64)
        parents = np.concatenate([np.empty(0, dtype=np.int32), *self._parents])
        return {"ends": ends, "parents": parents, "moves": np.concatenate([np.empty(0, np.uint16), *self._moves])}

    @classmethod
    def of(cls, arrays: dict[str, Array]) -> "Trail":
        ends = arrays["ends"][:-1]
        if not len(arrays["ends"]):
            return cls([], [])
        return cls(np.split(arrays["parents"], ends), np.split(arrays["moves"], ends))


class Beam:
    """A beam search in progress. `points` and `sequence` are its best play so far, `tried` counts its moves."""

    def __init__(
        self, context: ComputeContext, puzzle: Scored, arena: Arena, seed: int, price: float = PRICE,
        rising: bool = False,
    ) -> None:  # fmt: skip
        """Begin a beam; `seed` breaks ties between boards. A board's value is its points less `price` per lost one.

        A `rising` price begins at a part of it and exceeds it when the reserve is used up.
        """
        self._price, self._rising = price, rising
        self._context, self._puzzle, self._arena, self._seed = context, puzzle, arena, seed
        nothing = np.zeros(1, dtype=np.int64)
        moved = Moved(*do_task("move", puzzle, [arena.first], arena.shared))
        self.frontier = Frontier(*moved, nothing, nothing.copy())
        self.trail = Trail([], [])
        self.points, self.sequence, self.tried = 0, list[int](), 0
        self._idle = 0
        self._met = SeenBoards(context.budget.memory // _MET_PART)

    @property
    def depth(self) -> int:
        """The number of moves that led to the frontier."""
        return len(self.trail)

    @property
    def taken(self) -> int:
        """The points that the best board of the frontier has taken off the reserve."""
        return (
            int(self.frontier.points[0] + self.frontier.lost[0]) if len(self.frontier.points) else self._arena.reserve
        )

    @property
    def finished(self) -> bool:
        """Return whether nothing is left to try, or the beam no longer improves."""
        return not len(self.frontier.points) or self._idle >= _IDLE_LAYERS or self.depth >= self._puzzle.most_moves

    def step(self, width: int) -> bool:
        """Replace the frontier by its best `width` successors; return whether the best play has improved."""
        values, points, lost = self._values()
        order = np.argsort(-values, axis=None, kind="stable")
        order = order[np.isfinite(values.ravel()[order])]
        parts: list[tuple[Frontier, Array]] = []
        found, begin = 0, 0
        for _ in range(_REFILLS):
            chosen = order[begin : begin + width - found]
            begin += len(chosen)
            if len(chosen):
                parts.append(self._made(chosen, points.ravel()[chosen], lost.ravel()[chosen]))
                found += len(parts[-1][1])
        if not found:
            self.frontier = self.frontier.none()
            return False
        self.frontier = Frontier(*(np.concatenate(each) for each in zip(*(part for part, _ in parts), strict=True)))
        origins = np.concatenate([chosen for _, chosen in parts])
        self.trail.add(origins // self._moves, origins % self._moves)
        if self.depth % _FORGET_LAYERS == 0:
            # Boards with a greater reserve than any in the frontier cannot recur.
            self._met.forget(int((self.frontier.points + self.frontier.lost).min()))
            self.trail.prune()
        best = int(np.argmax(self.frontier.points))
        better = int(self.frontier.points[best]) > self.points
        if better:
            self.points, self.sequence = int(self.frontier.points[best]), self.trail.sequence(best)
        self._idle = 0 if better else self._idle + 1
        return better

    @property
    def _moves(self) -> int:
        return int(self.frontier.gains.shape[1])

    def _values(self) -> tuple[Array, Array, Array]:
        """Return the value, the points and the lost points of the board after each move of each board."""
        front = self.frontier
        points = front.points[:, None] + front.gains
        lost = front.lost[:, None] + front.takes - front.gains
        price: Any = self._price
        if self._rising:
            price = price * (_RISES_FROM + _RISES_BY * (points + lost) / max(1, self._arena.reserve))
        values = points - price * lost
        # The tie-breaker is less than any relevant difference, and independent of the division into chunks.
        mixed = (front.digests[:, :1] ^ np.uint64(self._seed)) * _MIXERS[0] + np.arange(self._moves, dtype=np.uint64)
        mixed = (mixed ^ mixed >> np.uint64(32)) * _MIXERS[1]
        values += (mixed >> np.uint64(40)).astype(np.float64) * 2.0**-34
        values[front.takes < 0] = -np.inf
        return values, points, lost

    def _made(self, chosen: Array, points: Array, lost: Array) -> tuple[Frontier, Array]:
        """Return the new boards after the moves ``moves * place + move`` of `chosen`, and the moves that led there."""
        self.tried += len(chosen)
        order = np.argsort(chosen, kind="stable")
        results: dict[int, list[Array]] = dict(self._spread(chosen[order]))
        moved = Moved(*(np.concatenate(each) for each in zip(*(results[n] for n in sorted(results)), strict=True)))
        back = np.empty(len(order), dtype=np.int64)
        back[order] = np.arange(len(order))
        fresh = self._met.fresh(moved.digests[back], points, points + lost)
        kept: list[Array] = [*(each[back[fresh]] for each in moved), points[fresh], lost[fresh]]
        return Frontier(*kept), chosen[fresh]

    def _spread(self, chosen: Array) -> Iterator[tuple[int, list[Array]]]:
        """Make moves, given in increasing order, in chunks of neighbouring boards."""
        farm, shared = self._context.farm, self._arena.shared
        plan = farm.plan_of(None, rules=False)
        most = plan.takers * (2 if plan.is_sent else 1)
        most = max(most, len(chosen) * self._arena.first.nbytes // _CHUNK_BYTES)
        pieces = max(1, min(most, len(chosen) // _LEAST_MOVES))
        chunks = [self._chunk(part) for part in np.array_split(chosen, pieces)]
        if len(chunks) == 1:
            yield 0, do_task("move", self._puzzle, chunks[0], shared)
        else:
            yield from farm.map(plan, "move", chunks, shared)

    def _chunk(self, chosen: Array) -> Arrays:
        places = chosen // self._moves
        first, last = int(places[0]), int(places[-1])
        return [self.frontier.boards[first : last + 1], places - first, (chosen % self._moves).astype(np.uint16)]

    def arrays(self) -> dict[str, Array]:
        """Return the state that another process needs to continue."""
        self.trail.prune()
        digests, met = self._met.arrays()
        own: dict[str, Array] = {
            "figures": np.array([self.points, self.tried, self._idle], dtype=np.int64),
            "sequence": np.array(self.sequence, dtype=np.uint16),
            "digests_met": digests,
            "met": met,
        }
        return {**own, **dict(zip(Frontier._fields, self.frontier, strict=True)), **self.trail.arrays()}

    def go_on_from(self, arrays: dict[str, Array]) -> None:
        """Restore the state of `arrays`; ``KeyError`` or ``ValueError`` if they are not those of a beam."""
        frontier, sizes = Frontier(*(arrays[name] for name in Frontier._fields)), Sizes()
        wrong_array("move", "shared", self._puzzle, self._arena.shared, sizes)
        if wrong := wrong_array("move", "result", self._puzzle, frontier[:4], sizes):
            raise ValueError(wrong)
        if arrays["met"].shape != arrays["digests_met"].shape or len({*map(len, frontier)}) > 1:
            raise ValueError("its arrays have different lengths")
        self.points, self.tried, self._idle = arrays["figures"].tolist()
        self.sequence = arrays["sequence"].tolist()
        self._met.take_over(arrays["digests_met"], arrays["met"])
        self.frontier = frontier
        self.trail = Trail.of(arrays)
