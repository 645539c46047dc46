"""Coded blocks that workers leave in Redis for each other: fetched and left here (named: `worker.transport.lots`)."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
import redis
from numpy.typing import NDArray
from redis.exceptions import OutOfMemoryError

from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Key, Keys, Layout, ints, is_batch, key_at, layout_of
from hakoiri.storage.errors import DamagedError
from hakoiri.storage.layers.blocks import MOST_BYTES, Block, Coded, is_sound, join_coded
from hakoiri.worker.errors import PayloadError
from hakoiri.worker.layers.parts import Held, Parts
from hakoiri.worker.layers.shuffle import Made
from hakoiri.worker.layers.windows import Span, Windows
from hakoiri.worker.tasks import SHUFFLES, TAKE_MORE, Arrays
from hakoiri.worker.transport.depots import MAIN, Depots
from hakoiri.worker.transport.lots import (
    BEGIN,
    BLOCKS,
    COLUMNS,
    LENGTH,
    NUMBER,
    PIECES,
    Lot,
    Origin,
    names_of,
    stretches,
)  # fmt: skip
from hakoiri.worker.transport.names import value_key

#: Depots that are read at a time.
_READERS = 8
#: Bytes asked for at a time: Redis holds them until they are fetched, as part of its memory.
_AT_ONCE = 1 << 22
_LOTS = 3
#: The arrays of an answer.
_ANSWERED = 7


class _Stretch(NamedTuple):
    """Bytes of a value that lie one after the other."""

    key: str
    begin: int
    length: int


def perform(
    depots: Depots, into: int, task: str, puzzle: Puzzle, origin: Origin, keep: int, arrays: Arrays,
    windows: Windows | None = None,
) -> list[NDArray[Any]]:  # fmt: skip
    """Do a half of a layer step with what lies in depots, and leave what it makes in depot `into` for `keep` seconds.

    Where that is full, in the Redis of the queue. What `windows` have is not fetched, and they keep what is made.

    The answer: its numbers, [the depot], some keys of the layer that it made; and of all blocks that were left, which
    piece they belong to (0: that layer), their first keys, counts and lengths. `PayloadError` if something is missing
    or broken; what is broken is removed.
    """
    lots = [Lot(*arrays[begin : begin + 3]) for begin in range(len(arrays) - 3 * _LOTS, len(arrays), 3)]
    for lot in lots:
        _check(lot)
    held: list[list[Held]] = [[] for _ in lots]
    if windows is not None and task in TAKE_MORE:
        for place, lot in enumerate(lots):
            held[place], lots[place] = _held(windows, origin.session, lot)
    blocks = [_fetch(depots, origin.session, lot) for lot in lots]
    try:
        parts: list[Parts] = [[*old, *new] for old, new in zip(held, blocks, strict=True)]
        made = SHUFFLES[task](puzzle, arrays[: -3 * _LOTS], parts)
    except DamagedError as error:
        _remove_broken(depots, origin.session, lots, blocks, puzzle.layout)
        raise PayloadError(str(error)) from error
    coded = join_coded([Coded.empty(puzzle.layout), *made.pieces.values()])
    pieces = np.repeat(list(made.pieces), [len(piece.firsts) for piece in made.pieces.values()]).astype(np.int64)
    end = int(coded.lengths[pieces == 0].sum())
    left_in = _leave(depots, into, origin, {BLOCKS: coded.data[:end], PIECES: coded.data[end:]}, keep)
    if windows is not None:
        _keep(windows, origin, made)
    where = np.array([left_in], dtype=np.int64)
    return [made.numbers, where, made.sample, pieces, coded.firsts, coded.counts, coded.lengths]


def _keep(windows: Windows, origin: Origin, made: Made) -> None:
    ends = {BLOCKS: 0, PIECES: 0}
    for piece, coded in made.pieces.items():
        value = PIECES if piece else BLOCKS
        begin, ends[value] = ends[value], ends[value] + len(coded.data)
        if piece in made.windows:
            lot = origin.lot(MAIN, value, 0, coded)
            lot.places[:, BEGIN] += begin
            windows.keep(Span(origin.session, origin.stage, origin.key(value), _blocks_of(lot), made.windows[piece]))


def _held(windows: Windows, session: str, lot: Lot) -> tuple[list[Held], Lot]:
    """What this process has of some blocks, and the others."""
    held, others = [], np.ones(len(lot.counts), dtype=np.bool_)
    cuts = [*stretches(lot.places).tolist(), len(lot.places)]
    for (begin, end), name in zip(pairwise(cuts), names_of(session, lot.places), strict=True):
        part = lot.take(slice(begin, end))
        window = windows.find(name.key, _blocks_of(part))
        if window is not None:
            held.append(Held(key_at(part.firsts, 0), int(part.counts.sum()), window))
            others[begin:end] = False
    return held, lot.take(others)


def _blocks_of(lot: Lot) -> set[tuple[int, Key, int]]:
    """As `Span` has them."""
    return set(zip(lot.places[:, BEGIN].tolist(), ints(lot.firsts), lot.counts.tolist(), strict=True))


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


def _fetch(depots: Depots, session: str, lot: Lot) -> list[Block]:
    cuts = [*stretches(lot.places).tolist(), len(lot.places)]
    rows = lot.places.tolist()
    ends = np.cumsum(lot.places[:, LENGTH])
    wanted: dict[int, dict[int, _Stretch]] = {}
    for begin, end in pairwise(cuts):
        length = int(ends[end - 1] - ends[begin]) + rows[begin][LENGTH]
        depot, *name, first = rows[begin][: BEGIN + 1]
        wanted.setdefault(depot, {})[begin] = _Stretch(value_key(session, *name), first, length)

    def read(depot: int) -> list[bytes]:
        stretches_there = list(wanted[depot].values())
        with depots.reach(depot, sum(stretch.length for stretch in stretches_there)) as connection:
            return _read(connection, stretches_there)

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
    """Some stretches of values of one depot; `PayloadError` if any is not there, and what is left of it is removed.

    `TypeError` where something else than bytes is said to be there.
    """
    values: list[bytes] = []
    pipeline, waiting = connection.pipeline(transaction=False), 0
    for stretch in wanted:
        pipeline.getrange(stretch.key, stretch.begin, stretch.begin + stretch.length - 1)
        waiting += stretch.length
        if waiting > _AT_ONCE:
            values += pipeline.execute()
            waiting = 0
    values += pipeline.execute()
    if not all(isinstance(value, bytes | memoryview) for value in values):
        raise TypeError("a value that is not bytes")
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
