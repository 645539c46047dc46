"""The halves of a layer step between workers, against sets; and what lies in Redis between them."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import redis

from hakoiri.coordinator.executors.lying import Lying
from hakoiri.coordinator.executors.plane import Plane
from hakoiri.coordinator.session.tuning import DEFAULT
from hakoiri.puzzles.contract import Expansion
from hakoiri.puzzles.keys.layout import LAYOUTS, Key, Keys, Layout, ints
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.storage.errors import DamagedError
from hakoiri.storage.layers.blocks import Block, Coded, code_bits, code_keys, decode, has_bits, is_sound, join_coded
from hakoiri.worker.errors import PayloadError
from hakoiri.worker.layers import parts, shuffle
from hakoiri.worker.layers.partition import Partition, partition_by
from hakoiri.worker.layers.parts import Held, Parts, marked, within
from hakoiri.worker.layers.shuffle import Made, gather, spread
from hakoiri.worker.layers.windows import Span, Windows
from hakoiri.worker.transport.depots import MAIN, Depots
from hakoiri.worker.transport.lots import BLOCKS, DEPOT, LENGTH, NUMBER, PIECES, Lot, Origin
from hakoiri.worker.transport.payload import pack_arrays, unpack_arrays
from hakoiri.worker.transport.pieces import perform, read_answer
from tests.support.engine import PlainDepots, PlainRedis

LAYER = 7
_FAR = 1_000_000


class Steps(Klotski):
    """Each key leads to those a little off; the keys are those of any layout."""

    def __init__(self, layout: Layout, offsets: Sequence[int]) -> None:
        super().__init__()
        self.layout = layout
        self._offsets = offsets

    def expand(self, keys: Keys) -> Expansion:
        """In no order, with duplicates."""
        found = [(key + offset) % (self.layout.greatest + 1) for key in ints(keys) for offset in self._offsets]
        return Expansion(self.layout.pack(found), np.full(len(keys), len(self._offsets), dtype=np.uint16))

    def is_goal(self, keys: Keys) -> Any:
        """Every third."""
        return np.array([key % 3 == 0 for key in ints(keys)], dtype=np.bool_)


def blocks_of(number: int, coded: Coded) -> list[Block]:
    """The blocks one by one."""
    parts = zip(ints(coded.firsts), coded.counts.tolist(), coded.values(), strict=True)
    return [Block(number, first, count, value) for first, count, value in parts]


def keys_of(blocks: list[Block], layout: Layout) -> list[Key]:
    return [key for block in blocks for key in ints(decode(block, layout))]


def drawn(layout: Layout, count: int, span: int, base: int, seed: int) -> list[Key]:
    """Distinct keys within a span, in order."""
    chance = np.random.default_rng(seed)
    return sorted({base + int(chance.integers(0, min(span, 1 << 62))) for _ in range(count)})


#: Dense keys and sparse ones, at either end of a layout.
SPANS = [(name, span, high) for name in LAYOUTS for span in (3_000, 1 << 28) for high in (False, True)]


@pytest.mark.parametrize("offsets", [(-1, 2, 64, 901), (-100_000_003, 5)], ids=["near", "far"])
@pytest.mark.parametrize(("name", "span", "high"), SPANS)
def test_both_halves_make_what_sets_make(name: str, span: int, high: bool, offsets: tuple[int, ...]) -> None:
    layout, number = LAYOUTS[name], LAYER - 1
    base = layout.greatest - span if high else 0
    puzzle = Steps(layout, offsets)
    current, known = drawn(layout, 900, span, base, 1), drawn(layout, 500, span, base, 2)
    lots = [[], *(blocks_of(number, code_keys(number, layout.pack(keys))) for keys in (current, known))]
    successors = {(key + offset) % (layout.greatest + 1) for key in current for offset in offsets}
    partition = partition_by(layout.pack(sorted(successors)), 5)
    pieces: dict[int, list[Block]] = {}
    for skipped, count in ((0, 400), (400, len(current) - 400)):
        header = np.array([skipped, count, LAYER], dtype=np.int64)
        for place, coded in spread(puzzle, [header, partition.numbers], [*lots[1:], []]).pieces.items():
            pieces.setdefault(place - 1, []).extend(blocks_of(LAYER, coded))
    crowded = span == 3_000 and layout.words == 1 and len(offsets) > 2
    assert any(has_bits(block.value) for blocks in pieces.values() for block in blocks) == crowded
    expected = successors - set(current) - set(known)
    assert {key for blocks in pieces.values() for key in keys_of(blocks, layout)} >= expected
    found: list[Key] = []
    further: list[Key] = []
    for place in range(partition.ranges):
        low, last = partition.bounds(place, layout)[0], partition.bounds(place, layout)[1] - 1
        mine = {key for key in expected if low <= key <= last}
        for begin, end in ((low, (low + last) // 2), ((low + last) // 2 + 1, last)):
            lots[0] = pieces.get(place, [])
            summary, sample, merged, _ = gathered(puzzle, lots, begin, end, partition)
            keys = keys_of(blocks_of(LAYER, merged.pop(0)), layout) if 0 in merged else []
            assert summary[:2].tolist() == [len(keys), sum(key % 3 == 0 for key in keys)]
            assert summary[4]
            assert ints(sample) == keys[:: -(-len(keys) // 1_024) or 1]
            assert set(keys) == {key for key in mine if begin <= key <= end}
            assert_expanded(puzzle, keys, partition, merged)
            found += keys
            further += [key for coded in merged.values() for key in keys_of(blocks_of(LAYER + 1, coded), layout)]
    assert found == sorted(expected)
    led_to = {(key + offset) % (layout.greatest + 1) for key in found for offset in offsets}
    assert led_to >= set(further) >= led_to - set(found) - set(current)


@pytest.mark.parametrize("one_value", [False, True])
def test_the_last_range_is_merged_to_the_end_of_all_its_pieces(one_value: bool) -> None:
    layout = LAYOUTS["u32"]
    puzzle, partition = Steps(layout, (0,)), partition_by(layout.pack([0]), 1)
    # What begins last ends first; crowded keys and others.
    batches = [list(range(1_000, 90_000, 3)), list(range(2_000, 50_000)), [3_000, 30_000], list(range(4_000, 5_000, 2))]
    pieces = [coded for keys in batches for coded in pieces_of(puzzle, keys, partition)]
    blocks = [block for coded in pieces for block in blocks_of(LAYER, coded)]
    if one_value:
        blocks = blocks_of(LAYER, join_coded([code_keys(LAYER, layout.pack(keys)) for keys in batches]))
    merged = gathered(puzzle, [blocks, [], []], 0, layout.greatest, partition).pieces
    assert keys_of(blocks_of(LAYER, merged[0]), layout) == sorted(set().union(*batches))


def pieces_of(puzzle: Steps, keys: list[Key], partition: Partition) -> list[Coded]:
    """The pieces of some keys, as whoever led to them from afar leaves them."""
    before = puzzle.layout.pack([key + _FAR for key in keys])
    lots = [blocks_of(LAYER - 1, code_keys(LAYER - 1, before)), [], []]
    header = np.array([0, len(keys), LAYER], dtype=np.int64)
    return list(spread(Steps(puzzle.layout, (-_FAR,)), [header, partition.numbers], lots).pieces.values())


def assert_expanded(puzzle: Steps, keys: list[Key], partition: Partition, made: dict[int, Coded]) -> None:
    """Piece r + 1 lies in range r, and has none of the keys that lead to it."""
    for number, coded in made.items():
        low, high = partition.bounds(number - 1, puzzle.layout)
        found = keys_of(blocks_of(LAYER + 1, coded), puzzle.layout)
        assert all(low <= key < high for key in found)
        assert not set(found) & set(keys)


def gathered(puzzle: Steps, lots: Sequence[Parts], low: Key, last: Key, following: Partition) -> Made:
    """A range of the first lot less both others, and what it leads to less the second."""
    return gather(puzzle, [np.array([LAYER, 1]), puzzle.layout.pack([low, last]), following.numbers], lots)


@pytest.mark.parametrize("last", [2_500, None], ids=["within", "open"])
@pytest.mark.parametrize("which", [(0,), (1,), (2,), (0, 1, 2)])
@pytest.mark.parametrize("span", [3_000, 1 << 20], ids=["dense", "sparse"])
def test_bitmaps_at_hand_are_as_good_as_blocks(span: int, which: tuple[int, ...], last: Key | None) -> None:
    """Also where they hold more of their layer than was asked for, and begin elsewhere."""
    layout, low = LAYOUTS["u32"], 700
    last = layout.greatest if last is None else last * span // 3_000
    puzzle, partition = Steps(layout, (-1, 2, 64, 901)), partition_by(layout.pack([0, span // 2, span]), 3)
    layers = [drawn(layout, 900, span, 0, seed) for seed in (1, 2, 3)]
    asked = [[key for key in keys if low <= key <= last] for keys in layers]
    lots: list[Parts] = [blocks_of(LAYER, code_keys(LAYER, layout.pack(keys))) for keys in asked]
    held = list(lots)
    for number in which:
        window = marked(layout, blocks_of(LAYER, code_keys(LAYER, layout.pack(layers[number]))), 64 * number, 2 * span)
        held[number] = [Held(asked[number][0], len(asked[number]), window)]
    told, meant = (gathered(puzzle, each, low, last, partition) for each in (held, lots))
    assert told.numbers.tolist() == meant.numbers.tolist()
    made = {number: keys_of(blocks_of(LAYER + (number > 0), coded), layout) for number, coded in told.pieces.items()}
    for number, window in told.windows.items():
        assert ints(within(window, 0, layout.greatest, layout)) == made[number]
    assert bool(told.windows) == (span == 3_000)
    found, further = made.pop(0), [key for keys in made.values() for key in keys]
    assert found == sorted({*asked[0]} - {*asked[1]} - {*asked[2]})
    led_to = {key + offset for key in found for offset in (-1, 2, 64, 901)}
    assert led_to - {*found} >= {*further} >= led_to - {*found} - {*layers[1]}


def test_what_lies_beyond_the_bitmap_of_a_sample_is_in_the_pieces_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one that the bitmap has keys of, or in another."""
    monkeypatch.setattr(shuffle, "_PROBE", 8)
    layout, number, offsets = LAYOUTS["u32"], LAYER - 1, (1, 65)
    # Neither the last ones of those close together nor the one far away are in the sample.
    keys = [*range(100_000, 106_000, 2), 50_000_000]
    partition = partition_by(layout.pack([100_000, 50_000_000]), 2)
    lots: list[Parts] = [blocks_of(number, code_keys(number, layout.pack(keys))), [], []]
    header = np.array([0, len(keys), LAYER], dtype=np.int64)
    pieces = spread(Steps(layout, offsets), [header, partition.numbers], lots).pieces
    blocks = {place: blocks_of(LAYER, coded) for place, coded in pieces.items()}
    found = {place: keys_of(each, layout) for place, each in blocks.items()}
    expected = sorted({key + offset for key in keys for offset in offsets} - {*keys})
    assert found == {1: expected[:-2], 2: expected[-2:]}
    assert [has_bits(block.value) for block in blocks[1]] == [True, False]


def test_ranges_beyond_a_bitmap_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel looks for the first bit before it looks where the words end."""
    layout, read = LAYOUTS["u32"], list[Any]()
    monkeypatch.setattr(parts, "code_bits", lambda *given: (read.append(given[1]), code_bits(*given))[1])
    keys = list(range(64_000, 96_000, 4))
    (block,) = blocks_of(LAYER - 1, code_keys(LAYER - 1, layout.pack(keys)))
    partition = partition_by(layout.pack([0, 100, 70_000, 200_000, 300_000]), 5)
    made = spread(Steps(layout, (1, 2, 3)), [np.array([0, len(keys), LAYER]), partition.numbers], [[block], []])
    assert len(made.pieces) == len(read) < partition.ranges
    assert all(words.any() for words in read)


@pytest.mark.parametrize("place", [0, 5, 8, -1])
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_block_with_another_byte_is_damaged(name: str, place: int) -> None:
    layout = LAYOUTS[name]
    (block,) = blocks_of(LAYER, code_keys(LAYER, layout.pack(drawn(layout, 100, 9_000, 0, 3))))
    broken = bytearray(block.value)
    broken[place] ^= 1
    damaged = [block._replace(value=bytes(broken)), block._replace(number=8), block._replace(first=block.first + 1)]
    for wrong in damaged:
        assert not is_sound(wrong, layout)
        with pytest.raises(DamagedError, match=r"layer [78], block 0x"):
            decode(wrong, layout)


# What lies in Redis


@pytest.fixture
def left() -> Iterator[tuple[PlainRedis, Steps, Lot, Partition]]:
    """A Redis with blocks of a layer, where they lie, and ranges of its successors."""
    server, puzzle = PlainRedis(), Steps(LAYOUTS["u64"], (1, 50_000))
    keys = np.unique(np.random.default_rng(4).integers(0, 1 << 50, 20_000, dtype=np.uint64))
    coded = code_keys(LAYER - 1, keys)
    origin = Origin("here", 0, 1, 0)
    server.set(origin.key(0), coded.data, ex=9)
    yield server, puzzle, origin.lot(MAIN, 0, LAYER - 1, coded), partition_by(keys, 3)


def performed(
    server: Any, puzzle: Steps, lot: Lot, partition: Partition, depots: Depots | None = None, into: int = MAIN
) -> list[Any]:
    header = np.array([0, lot.counts.sum(), LAYER], dtype=np.int64)
    nothing = Lot.empty(puzzle.layout)
    arrays = unpack_arrays(pack_arrays([header, partition.numbers, *lot, *nothing, *nothing]))
    return perform(depots or Depots(server), into, "spread", puzzle, Origin("here", 1, 0, 2), 9, arrays)


def test_a_task_fetches_and_leaves_pieces(left: tuple[Any, Steps, Lot, Partition]) -> None:
    server, puzzle, lot, partition = left
    _, depot, sample, pieces, coded = read_answer(performed(server, puzzle, lot, partition))
    assert depot == MAIN
    assert not len(sample)
    assert np.unique(pieces).tolist() == [1, 2, 3]
    whole = coded._replace(data=memoryview(server.held[f"hakoiri:here:blocks:1.0:2:{PIECES}"]))
    assert len(whole.data) == int(coded.lengths.sum())
    for piece, block in zip(pieces.tolist(), blocks_of(LAYER, whole), strict=True):
        low, high = partition.bounds(piece - 1, puzzle.layout)
        assert all(low <= key < high for key in keys_of([block], puzzle.layout))


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        # The numbers, the depot, some keys, and of the blocks which pieces they are of, first keys, counts and lengths.
        (0, None), (1, np.empty(0, dtype=np.int64)), (1, np.zeros((1, 1), dtype=np.int64)), (2, np.arange(9)),
        (2, np.zeros((1, 2), dtype=np.uint64)), (3, np.arange(2)), (3, np.full((3, 1), 7)), (3, "negative"),
        (4, np.empty(0, dtype=np.uint64)), (4, np.arange(3)), (5, np.arange(1)), (6, np.zeros((2, 2), dtype=np.int64)),
    ],
)  # fmt: skip
def test_an_answer_of_another_shape_is_refused(place: int, wrong: Any, left: tuple[Any, Steps, Lot, Partition]) -> None:
    answer = performed(*left)
    assert set(read_answer(answer).pieces.tolist()) == {1, 2, 3}
    answer[place : place + 1] = [] if wrong is None else [-answer[place] if isinstance(wrong, str) else wrong]
    lying = Lying(Plane(Depots(left[0]), DEFAULT, lambda call: call(), lambda text: None), "here", DEFAULT)
    with pytest.raises(PayloadError, match="what a worker says of request 3 of layer 7 is not readable: an answer"):
        lying.answer(3, Origin("here", 1, 3, 1), LAYER, answer)


class Line:
    """A Redis in which layers of keys lie that lead a little further; the second of its ranges is looked at."""

    def __init__(self) -> None:
        self.server, self._layout = PlainRedis(), LAYOUTS["u32"]
        self._puzzle = Steps(self._layout, (64, 65, 66, 67, 500))
        self._cuts = partition_by(self._layout.pack([0, 2_000, 4_000]), 3).numbers
        self.nothing = Lot.empty(self._layout)

    def first(self, last: Key) -> list[Lot]:
        """The keys from 500 to `last`, which is not among them, and none that are known."""
        coded, origin = code_keys(LAYER, self._layout.pack(range(500, last))), Origin("here", 0, last, 0)
        self.server.set(origin.key(PIECES), coded.data, ex=9)
        return [origin.lot(MAIN, PIECES, LAYER, coded), self.nothing, self.nothing]

    def made(self, stage: int, lots: list[Lot], windows: Windows) -> tuple[list[int], list[Lot]]:
        """How many keys, with their digest; lots for the second range of what they lead to."""
        head = [np.array([LAYER + stage, 1]), self._layout.pack([0, self._layout.greatest]), self._cuts]
        origin, arrays = Origin("here", stage, 0, 1), [*head, *(array for lot in lots for array in lot)]
        answer = perform(Depots(self.server), MAIN, "gather", self._puzzle, origin, 9, arrays, windows)
        said = read_answer(answer)
        own = int(np.searchsorted(said.pieces, 1))
        blocks = origin.lot(MAIN, BLOCKS, LAYER + stage, said.blocks.between(0, own))
        pieces = origin.lot(MAIN, PIECES, LAYER + stage + 1, said.blocks.between(own, len(said.pieces)))
        return said.numbers.tolist(), [pieces.take(said.pieces[own:] == 2), blocks, lots[1]]


def test_what_a_worker_has_made_it_does_not_fetch() -> None:
    line, windows = Line(), Windows(1 << 20)
    first = line.first(3_000)
    _, lots = line.made(1, first, windows)
    expected, _ = line.made(2, lots, Windows(0))
    for value in (BLOCKS, PIECES):
        del line.server.held[Origin("here", 1, 0, 1).key(value)]
    assert expected[0] == 500
    assert line.made(2, lots, windows)[0] == expected
    # What is older than the layers that a next one may lead back to is forgotten, and what there is no room for.
    assert line.made(4, first, windows)[0] == line.made(4, first, Windows(0))[0]
    for empty in (windows, Windows(100)):
        with pytest.raises(PayloadError, match="gone"):
            line.made(5, lots, empty)


def test_bitmaps_at_hand_keep_to_their_bytes_and_the_oldest_go_first() -> None:
    windows, words = Windows(100), np.zeros(5, dtype=np.uint64)
    for number in range(4):
        windows.keep(Span("here", number, f"value {number}", frozenset({(0, number, 1)}), (64 * number, words)))
        kept = [other for other in range(4) if windows.find(f"value {other}", frozenset({(0, other, 1)}))]
        assert kept == list(range(max(0, number - 1), number + 1))
    windows.keep(Span("there", 3, "value 4", frozenset({(0, 4, 1)}), (0, words)))
    assert windows.find("value 3", frozenset({(0, 3, 1)})) is None


def test_a_range_that_is_not_expanded_is_not_said_to_be() -> None:
    layout = LAYOUTS["u32"]
    lots: list[Parts] = [blocks_of(LAYER, code_keys(LAYER, layout.pack([3, 5, 9])))]
    bounds, nowhere = layout.pack([0, 100]), np.empty(0, dtype=np.int64)
    made = gather(Steps(layout, (1,)), [np.array([LAYER, 1]), bounds, nowhere], [*lots, [], []])
    assert (made.numbers[[0, 1, 4]].tolist(), list(made.pieces)) == ([3, 2, 0], [0])


def test_what_another_worker_has_made_of_the_same_attempt_is_fetched() -> None:
    """Redis may come back with jobs that were done: then two workers make one attempt, each of what it has at hand."""
    line, windows = Line(), Windows(1 << 20)
    line.made(1, line.first(3_000 + 4 * 64), windows)
    _, (pieces, *_) = line.made(1, line.first(3_000), Windows(0))
    lots = [pieces, line.nothing, line.nothing]
    assert line.made(2, lots, windows)[0] == line.made(2, lots, Windows(0))[0]


@pytest.mark.parametrize("harm", ["gone", "shorter", "another byte"])
def test_a_piece_that_is_lost_or_broken_is_missing(harm: str, left: tuple[Any, Steps, Lot, Partition]) -> None:
    server, puzzle, lot, partition = left
    (name,) = server.held
    value = server.held.pop(name)
    if harm != "gone":
        server.held[name] = value[:-1] if harm == "shorter" else value[:-1] + bytes([value[-1] ^ 1])
    with pytest.raises(PayloadError):
        performed(server, puzzle, lot, partition)
    assert not server.held, "the coordinator would ask for it again and again"


@pytest.mark.parametrize(
    ("column", "value"), [(LENGTH, 1 << 40), (LENGTH, 0), (LENGTH, -5), (0, -1), (NUMBER, 1 << 40)]
)
def test_impossible_figures_are_refused(column: int, value: int, left: tuple[Any, Steps, Lot, Partition]) -> None:
    server, puzzle, lot, partition = left
    lot.places[-1, column] = value
    with pytest.raises(PayloadError, match="where pieces lie is not readable"):
        performed(server, puzzle, lot, partition)


@pytest.mark.parametrize("token", ["", "1", "1.2.3", "a.1", "1.-1", "1." + "9" * 40, "../x.1"])
def test_a_token_that_is_not_two_numbers_names_no_piece(token: str) -> None:
    with pytest.raises(PayloadError, match="is not a stage and a chunk"):
        Origin.of("here", token, 1)


class Full(PlainRedis):
    """A data Redis that notices too late that there is no room."""

    def set(self, name: str, value: Any, ex: int) -> bool:
        """Keep it, and say no."""
        super().set(name, value, ex)
        raise redis.exceptions.OutOfMemoryError("command not allowed when used memory > 'maxmemory'")


def test_pieces_for_which_a_depot_has_no_room_lie_in_the_one_redis(left: tuple[Any, Steps, Lot, Partition]) -> None:
    server, puzzle, lot, partition = left
    full = Full()
    depots = PlainDepots(server, [full])
    answer = performed(server, puzzle, lot, partition, depots, depots.numbers[0])
    assert read_answer(answer).depot == MAIN
    assert not full.held, "nobody will ask there for the first"
    assert f"hakoiri:here:blocks:1.0:2:{PIECES}" in server.held


def test_blocks_are_fetched_from_several_depots_in_their_order(left: tuple[Any, Steps, Lot, Partition]) -> None:
    server, puzzle, lot, partition = left
    expected = performed(server, puzzle, lot, partition)
    hosts = [PlainRedis(), PlainRedis()]
    depots = PlainDepots(server, hosts)
    (name,) = [name for name in server.held if ":0.1:" in name]
    for number, (depot, host) in enumerate(zip(depots.numbers, hosts, strict=True)):
        host.held[name] = server.held[name]
        lot.places[number, DEPOT] = depot
    assert len(lot.places) == 2
    found = performed(server, puzzle, lot, partition, depots)
    assert all(np.array_equal(one, other) for one, other in zip(expected, found, strict=True))


@pytest.mark.parametrize("count", [1, 2, 40, 64, 1_000])
def test_a_bitmap_has_room_for_all_keys_of_its_sample_and_a_margin(count: int) -> None:
    window = shuffle._window(LAYOUTS["u32"].pack(list(range(5_000, 5_000 + count))), 3)
    assert window is not None
    base, words = window
    margin = (count - 1) // 32
    assert 5_000 - margin - 64 < base <= 5_000 - margin
    last = 5_000 + count - 1 + margin
    assert last < base + 64 * len(words) <= last + 128
