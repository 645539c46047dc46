"""Coded blocks that workers leave in Redis for each other: fetched and left here, named by numbers alone.

An attempt leaves two values, string keys in a depot: the blocks of the layer that it made (`BLOCKS`), and those of the
pieces that it expanded, range after range (`PIECES`). Their names say which attempt at which chunk left them, so that
a late or doubled attempt never mixes with the one that counts; they expire unless they are renewed. Where blocks lie in
them, and what their first keys are, the coordinator knows and says in requests.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
import redis
from numpy.typing import NDArray
from redis.exceptions import OutOfMemoryError

from puzzles.contract import Puzzle
from puzzles.keys.layout import Keys, Layout, ints, is_batch, layout_of
from storage.errors import DamagedError
from storage.layers.coded import MOST_BYTES, Block, Coded, is_sound, join_coded
from worker.errors import PayloadError
from worker.tasks import SHUFFLES, Arrays
from worker.transport.depots import MAIN, Depots
from worker.transport.names import value_key

#: The values that an attempt may leave.
BLOCKS, PIECES = 0, 1
#: The columns of `Lot.places`.
DEPOT, STAGE, CHUNK, ATTEMPT, VALUE, BEGIN, LENGTH, NUMBER, COLUMNS = range(9)
#: Depots that are read at a time.
_READERS = 8
#: Bytes asked for at a time: Redis holds them until they are fetched, as part of its memory.
_AT_ONCE = 1 << 22
_LOTS = 2
#: The arrays of an answer.
_ANSWERED = 7


class Lot(NamedTuple):
    """Coded blocks that lie in Redis: where (a row of `places` each), their first keys, how many keys they have.

    A place is the depot, stage, chunk, attempt and number of a value, the block's first byte there and its length, and
    the number of the layer that the block is made for.
    """

    places: NDArray[np.int64]
    firsts: Keys
    counts: NDArray[np.int64]

    @classmethod
    def empty(cls, layout: Layout) -> "Lot":
        """No blocks."""
        return cls(np.empty((0, COLUMNS), dtype=np.int64), layout.empty(0), np.empty(0, dtype=np.int64))

    def take(self, chosen: "slice | NDArray[np.bool_] | NDArray[np.int64]") -> "Lot":
        """Some of the blocks."""
        return Lot(self.places[chosen], self.firsts[chosen], self.counts[chosen])


def join_lots(lots: Sequence[Lot]) -> Lot:
    """The blocks of at least one lot, in turn."""
    places, firsts, counts = (np.concatenate(column) for column in zip(*lots, strict=True))
    return Lot(places, firsts, counts)


class _Stretch(NamedTuple):
    """Bytes of a value that lie one after the other."""

    key: str
    begin: int
    length: int


class ValueName(NamedTuple):
    """A value: the depot that it lies in, and its key there."""

    depot: int
    key: str


@dataclass(frozen=True)
class Origin:
    """One attempt at one chunk of a stage: who left some values."""

    session: str
    stage: int
    chunk: int
    attempt: int

    @classmethod
    def of(cls, session: str, token: str, attempt: int) -> "Origin":
        """From a request; `PayloadError` unless its token is two numbers."""
        numbers = token.split(".")
        if len(numbers) != 2 or not all(number.isdecimal() and len(number) < 19 for number in numbers):
            raise PayloadError(f"token {token[:40]!r} is not a stage and a chunk")
        return cls(session, int(numbers[0]), int(numbers[1]), attempt)

    def key(self, value: int) -> str:
        """The Redis key of a value."""
        return value_key(self.session, self.stage, self.chunk, self.attempt, value)

    def lot(self, depot: int, value: int, number: int, coded: Coded) -> Lot:
        """Where the blocks of a value lie, which are those of layer `number`."""
        places = np.empty((len(coded.firsts), COLUMNS), dtype=np.int64)
        places[:, :BEGIN] = depot, self.stage, self.chunk, self.attempt, value
        places[:, BEGIN] = np.cumsum(coded.lengths) - coded.lengths
        places[:, LENGTH], places[:, NUMBER] = coded.lengths, number
        return Lot(places, coded.firsts, coded.counts)


def perform(
    depots: Depots, into: int, task: str, puzzle: Puzzle, origin: Origin, keep: int, arrays: Arrays
) -> list[NDArray[Any]]:
    """Do a half of a layer step with what lies in depots, and leave what it makes in depot `into` for `keep` seconds.

    Where that is full, in the Redis of the queue.

    The answer: its numbers, [the depot], some keys of the layer that it made; and of all blocks that were left, which
    piece they belong to (0: that layer), their first keys, counts and lengths. `PayloadError` if something is missing
    or broken; what is broken is removed.
    """
    lots = [Lot(*arrays[begin : begin + 3]) for begin in range(len(arrays) - 3 * _LOTS, len(arrays), 3)]
    blocks = [_fetch(depots, origin.session, lot) for lot in lots]
    try:
        made = SHUFFLES[task](puzzle, arrays[: -3 * _LOTS], blocks)
    except DamagedError as error:
        _remove_broken(depots, origin.session, lots, blocks, puzzle.layout)
        raise PayloadError(str(error)) from error
    coded = join_coded([Coded.empty(puzzle.layout), *made.pieces.values()])
    pieces = np.repeat(list(made.pieces), [len(piece.firsts) for piece in made.pieces.values()]).astype(np.int64)
    end = int(coded.lengths[pieces == 0].sum())
    left_in = _leave(depots, into, origin, {BLOCKS: coded.data[:end], PIECES: coded.data[end:]}, keep)
    where = np.array([left_in], dtype=np.int64)
    return [made.numbers, where, made.sample, pieces, coded.firsts, coded.counts, coded.lengths]


class Said(NamedTuple):
    """What an answer tells: as `perform` has it, the blocks but for their bytes."""

    numbers: NDArray[Any]
    depot: int
    sample: Keys
    pieces: NDArray[np.int64]
    blocks: Coded


def read_answer(answer: Sequence[NDArray[Any]]) -> Said:
    """What `perform` gave; `PayloadError` for anything else, as far as it shows."""
    shapes = [array.ndim for array in answer]
    if len(shapes) != _ANSWERED or [*shapes[:2], shapes[3], *shapes[5:]] != [1] * 5 or len(answer[1]) != 1:
        raise PayloadError("an answer is not the arrays of one")
    numbers, (depot,), sample, pieces, firsts, counts, lengths = answer
    if [len(pieces), len(counts), len(lengths)] != [len(firsts)] * 3 or (np.diff(pieces, prepend=0) < 0).any():
        raise PayloadError("an answer has other pieces than it says")
    if not is_batch(firsts) or not layout_of(firsts).holds(sample):
        raise PayloadError("an answer has a sample of other keys")
    return Said(numbers, int(depot), sample, pieces, Coded(firsts, counts, lengths, memoryview(b"")))


def names_of(session: str, places: NDArray[np.int64]) -> list[ValueName]:
    """The values in which some blocks lie, one for each stretch of them (`stretches`)."""
    return [ValueName(depot, value_key(session, *row)) for depot, *row in places[stretches(places), :BEGIN].tolist()]


def stretches(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """At which rows another stretch of one value begins."""
    same = (places[1:, :BEGIN] == places[:-1, :BEGIN]).all(axis=1)
    follows = places[1:, BEGIN] == places[:-1, BEGIN] + places[:-1, LENGTH]
    return np.flatnonzero(np.concatenate([np.ones(min(1, len(places)), dtype=np.bool_), ~(same & follows)]))


def _fetch(depots: Depots, session: str, lot: Lot) -> list[Block]:
    _check(lot)
    cuts = [*stretches(lot.places).tolist(), len(lot.places)]
    rows = lot.places.tolist()
    ends = np.cumsum(lot.places[:, LENGTH])
    wanted: dict[int, dict[int, _Stretch]] = {}
    for begin, end in pairwise(cuts):
        length = int(ends[end - 1] - ends[begin]) + rows[begin][LENGTH]
        depot, *name, first = rows[begin][: BEGIN + 1]
        wanted.setdefault(depot, {})[begin] = _Stretch(value_key(session, *name), first, length)

    def read(depot: int) -> list[bytes]:
        with depots.reach(depot) as connection:
            return _read(connection, list(wanted[depot].values()))

    # Each depot has a link of its own.
    with ThreadPoolExecutor(_READERS) as pool:
        found = pool.map(read, wanted) if len(wanted) > 1 else map(read, wanted)
        values = dict(zip(chain.from_iterable(wanted.values()), chain.from_iterable(found), strict=True))
    blocks = []
    for begin, end in pairwise(cuts):
        value, offset = memoryview(values[begin]), rows[begin][BEGIN]
        for row, first, count in zip(rows[begin:end], ints(lot.firsts[begin:end]), lot.counts[begin:end], strict=True):
            place = row[BEGIN] - offset
            blocks.append(Block(row[NUMBER], first, int(count), value[place : place + row[LENGTH]]))
    return blocks


def _read(connection: redis.Redis, wanted: list[_Stretch]) -> list[bytes]:
    """Some stretches of values of one depot; `PayloadError` if any is not there, and what is left of it is removed."""
    values: list[bytes] = []
    pipeline, waiting = connection.pipeline(transaction=False), 0
    for stretch in wanted:
        pipeline.getrange(stretch.key, stretch.begin, stretch.begin + stretch.length - 1)
        waiting += stretch.length
        if waiting > _AT_ONCE:
            values += pipeline.execute()
            waiting = 0
    values += pipeline.execute()
    if short := [stretch.key for stretch, value in zip(wanted, values, strict=True) if len(value) != stretch.length]:
        # For the coordinator all of a value is there while its key is.
        connection.unlink(*short)
        raise PayloadError("a piece is gone from Redis")
    return values


def _check(lot: Lot) -> None:
    """`PayloadError` unless all figures are possible: nothing is allocated by what a message says."""
    places = lot.places
    sound = places.ndim == 2 and places.shape[1] == COLUMNS and len(places) == len(lot.firsts) == len(lot.counts)
    if not sound or (places < 0).any() or (places[:, NUMBER] >= 1 << 32).any():
        raise PayloadError("where pieces lie is not readable")
    if (places[:, LENGTH] > MOST_BYTES).any() or (places[:, LENGTH] < 8).any() or (places[:, BEGIN] >= 1 << 32).any():
        raise PayloadError("where pieces lie is not readable: no block is so long")


def _leave(depots: Depots, into: int, origin: Origin, values: dict[int, memoryview], keep: int) -> int:
    """In which depot the values lie now, but for empty ones."""
    with depots.reach(into) as depot:
        try:
            for number, value in values.items():
                if value:
                    depot.set(origin.key(number), value, ex=keep)
        except OutOfMemoryError:
            if into == MAIN:
                raise
            depot.unlink(*map(origin.key, values))
        else:
            return into
    return _leave(depots, MAIN, origin, values, keep)


def _remove_broken(depots: Depots, session: str, lots: list[Lot], blocks: list[list[Block]], layout: Layout) -> None:
    """Make what is broken missing, so that whoever made it is asked again."""
    for lot, fetched in zip(lots, blocks, strict=True):
        broken = [not is_sound(block, layout) for block in fetched]
        for name in names_of(session, lot.places[np.array(broken, dtype=np.bool_)]):
            with depots.reach(name.depot) as depot:
                depot.delete(name.key)
