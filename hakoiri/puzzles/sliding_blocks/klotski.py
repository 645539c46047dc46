"""Hakoiri-musume, known abroad as Klotski: 65,880 configurations of ten pieces on a board of 4 x 5.

The packing is the one of Goto, Kawai and Sasaki ("Hakoiri-musume and L6", section 2). The six larger pieces have at
most 16 places each, so four bits apiece. The two blanks have 190 states, so eight bits. The four unit squares fill what
is left. From the highest bit:

    bits 31..28  daughter, 2x2: row * 3 + column of its top left cell, 12 places
    bits 27..24  horizontal, 1x2 (one row, two columns): row * 3 + column, 15 places
    bits 23..8   four verticals, 2x1: row * 4 + column, 16 places, in increasing order so that the packing is unique
    bits  7..0   the pair of blank cells, numbered 0..189 in lexicographic order

In tables and kernels a set of cells is a 20-bit mask. A shape is 0 daughter, 1 horizontal, 2 vertical, 3 unit square;
its places are numbered in reading order. Slots 0..5 are the six larger pieces in the order of the key's nibbles.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import combinations, product

import numpy as np

from hakoiri.compiling import jit
from hakoiri.errors import ConfigurationError
from hakoiri.keys.layout import U32, Counts, Key, Keys, Mask
from hakoiri.puzzles.contract import OVERFLOW, Expansion, Matching
from hakoiri.puzzles.options import Choice
from hakoiri.puzzles.sliding_blocks.boards import ANYTHING, parse_board, parse_rectangles
from hakoiri.puzzles.sliding_blocks.goals import Wishes, goal_board, remark_on_letters
from hakoiri.puzzles.sliding_blocks.pieces import Blocks, PieceSet, PlacedPiece
from hakoiri.puzzles.sliding_blocks.shapes import DIRECTIONS

ROWS, COLUMNS = 5, 4
_SIZE = ROWS * COLUMNS
#: (height, width) of each shape.
SHAPES = ((2, 2), (1, 2), (2, 1), (1, 1))
SLOTS = (0, 1, 2, 2, 2, 2)
PLACES = [
    [(row, column) for row in range(ROWS - height + 1) for column in range(COLUMNS - width + 1)]
    for height, width in SHAPES
]
PAIRS = list(combinations(range(_SIZE), 2))

#: An integer inside a kernel.
Word = int | np.signedinteger

_UNIT_METRIC, _STRAIGHT_METRIC = 0, 1
_NOWHERE = -1
#: The cells of the larger pieces and the blanks.
_COVERED = sum(SHAPES[shape][0] * SHAPES[shape][1] for shape in SLOTS) + 2


_SHAPE_OF_SLOT = np.array(SLOTS, dtype=np.int64)
#: The lowest bit of each slot, as a column.
_SHIFTS = np.arange(28, 4, -4, dtype=np.uint32)[:, None]
#: By shape and place: the cells, the places one step on, and the place of the mirror image.
MASKS, _MIRROR = np.zeros((2, 4, _SIZE), dtype=np.uint32)
_NEIGHBOURS = np.full((4, _SIZE, 4), _NOWHERE, dtype=np.int64)
for _shape, (_height, _width) in enumerate(SHAPES):
    _number = {place: index for index, place in enumerate(PLACES[_shape])}
    for (_row, _column), _place in _number.items():
        _cells = product(range(_row, _row + _height), range(_column, _column + _width))
        MASKS[_shape, _place] = sum(1 << down * COLUMNS + right for down, right in _cells)
        _NEIGHBOURS[_shape, _place] = [
            _number.get((_row + down, _column + right), _NOWHERE) for down, right in DIRECTIONS
        ]
        _MIRROR[_shape, _place] = _number[_row, COLUMNS - _width - _column]
PAIR_MASKS = np.array([1 << first | 1 << second for first, second in PAIRS], dtype=np.uint32)
_PAIR_TABLE = np.zeros((_SIZE, _SIZE), dtype=np.uint32)
for _pair, (_first, _second) in enumerate(PAIRS):
    _PAIR_TABLE[_first, _second] = _PAIR_TABLE[_second, _first] = _pair
_MIRROR_CELLS = np.arange(_SIZE).reshape(ROWS, COLUMNS)[:, ::-1].ravel()
_PAIR_MIRROR = _PAIR_TABLE[tuple(_MIRROR_CELLS[np.array(PAIRS).T])]


@jit
def _targets(shape: Word, place: Word, free: Word, metric: int, found: np.ndarray) -> int:
    """Write the places that one move can reach into `found`; return how many. `free` holds the piece's own cells."""
    count = 0
    if metric <= _STRAIGHT_METRIC:
        for direction in range(4):
            target = _NEIGHBOURS[shape, place, direction]
            while target != _NOWHERE and MASKS[shape, target] & ~free == 0:
                found[count] = target
                count += 1
                if metric == _UNIT_METRIC:
                    break
                target = _NEIGHBOURS[shape, target, direction]
        return count
    seen = 1 << place
    done = -1
    here = place
    while True:
        for direction in range(4):
            target = _NEIGHBOURS[shape, here, direction]
            if target != _NOWHERE and seen >> target & 1 == 0 and MASKS[shape, target] & ~free == 0:
                seen |= 1 << target
                found[count] = target
                count += 1
        done += 1
        if done == count:
            return count
        here = found[done]


@jit
def _pair_of(mask: Word) -> int:
    first = 0
    while mask >> first & 1 == 0:
        first += 1
    second = first + 1
    while mask >> second & 1 == 0:
        second += 1
    return int(_PAIR_TABLE[first, second])


@jit
def _place_vertical(key: Word, slot: int, target: Word) -> Word:
    """The key after the vertical in `slot` went to `target`: its nibble moves until the four are in order again."""
    shift = 28 - 4 * slot
    key = (key & ~(15 << shift)) | target << shift
    while shift < 20 and (key >> (shift + 4)) & 15 > target:
        other = (key >> (shift + 4)) & 15
        key = (key & ~(255 << shift)) | target << (shift + 4) | other << shift
        shift += 4
    while shift > 8 and (key >> (shift - 4)) & 15 < target:
        other = (key >> (shift - 4)) & 15
        key = (key & ~(255 << (shift - 4))) | other << shift | target << (shift - 4)
        shift -= 4
    return key


@jit
def expand_keys(keys: Keys, metric: int, room: Keys, counts: Counts) -> int:
    """Write the successors of all `keys` into `room`, how many each has into `counts`; return their total.

    `OVERFLOW` if they do not fit. Metric: 0 unit, 1 straight, 2 finger.
    """
    found = np.empty(_SIZE, dtype=np.int64)
    total = 0
    for i in range(len(keys)):
        key = np.int64(keys[i])
        blanks = np.int64(PAIR_MASKS[key & 255])
        covered = blanks
        first = total
        for slot in range(6):
            shape = _SHAPE_OF_SLOT[slot]
            shift = 28 - 4 * slot
            place = key >> shift & 15
            own = np.int64(MASKS[shape, place])
            covered |= own
            count = _targets(shape, place, blanks | own, metric, found)
            if total + count > len(room):
                return OVERFLOW
            for j in range(count):
                target = found[j]
                pair = _pair_of((blanks | own) & ~np.int64(MASKS[shape, target]))
                moved = (key & ~(15 << shift)) | target << shift
                if shape == 2:
                    moved = _place_vertical(key, slot, target)
                room[total] = (moved & ~255) | pair
                total += 1
        for cell in range(_SIZE):
            if covered >> cell & 1 == 0:
                own = np.int64(1) << cell
                count = _targets(3, cell, blanks | own, metric, found)
                if total + count > len(room):
                    return OVERFLOW
                for j in range(count):
                    room[total] = (key & ~255) | _pair_of((blanks | own) & ~(np.int64(1) << found[j]))
                    total += 1
        counts[i] = total - first
    return total


USUAL_START = "ABBC/ABBC/DEEF/DGHF/I..J"
_METRICS = ("unit", "straight", "finger")
_WANTED = {"2x2": 1, "horizontal 1x2": 1, "vertical 2x1": 4, "1x1": 4}
_SHAPE_NAMES = tuple(_WANTED)
_GOAL_PLACE = PLACES[0].index((3, 1))
_USUAL_GOAL = Wishes({PlacedPiece(0, (3, 1))})

_PIECES = PieceSet(parse_board(USUAL_START))
#: By shape and place.
_CELLS = [list(kind.places.values()) for kind in _PIECES.kinds]
_ALL_CELLS = frozenset(range(ROWS * COLUMNS))
_PLACE_OF = {PlacedPiece(shape, corner): place for shape in range(4) for place, corner in enumerate(PLACES[shape])}
_UNITS = [PlacedPiece(3, corner) for corner in PLACES[3]]


class Klotski(Blocks):
    """Option `metric`: the definition of one move of one piece.

    ``unit`` is one step (the paper's choice), ``straight`` any distance in one direction, ``finger`` any way at all.
    """

    name = "klotski"
    summary = "Hakoiri-musume: ten pieces on a board of 4 x 5"
    options = {"metric": Choice(_METRICS)}
    layout = U32
    pieces = _PIECES
    # The most over all 65,880 configurations: 7 (unit), 7 (straight), 10 (finger); a test counts them.
    most_successors = 10

    def prepare(self, start: str | None) -> None:
        if start is not None and not start.lower().startswith("0x"):
            self.parse_text(start)
            self.pieces = PieceSet(parse_board(start))

    def usual_start(self) -> Key:
        return self.parse_text(USUAL_START)

    @cached_property
    def wishes(self) -> Wishes:  # type: ignore[override]
        """The usual goal, or the one that the user has chosen (`puzzles.goals`)."""
        chosen = self.parameters.get("goal")
        return _USUAL_GOAL if chosen is None else goal_board(self.pieces, chosen.replace("?", ANYTHING))

    def remark_on(self, text: str) -> None:
        remark_on_letters(self.pieces, text, distinguishes=False)

    def is_goal(self, keys: Keys) -> Mask:
        """The daughter stands in the middle of the two bottom rows."""
        return np.asarray((keys >> 28) == _GOAL_PLACE)

    def match(self, pattern: str) -> Matching:
        """Pieces by their shapes: letters mean nothing."""
        wishes = goal_board(self.pieces, pattern.replace("?", ANYTHING))
        return lambda keys: np.logical_and.reduce(
            [np.ones(len(keys), dtype=np.bool_), *(self._stands(keys, wish) for wish in wishes)]
        )

    def _stands(self, keys: Keys, wish: PlacedPiece) -> Mask:
        """Return for each key whether a piece of this kind, or a blank, is there."""
        places = _places(keys)
        if wish in _PLACE_OF and wish.kind != _UNITS[0].kind:
            there = [places[slot] == _PLACE_OF[wish] for slot, shape in enumerate(SLOTS) if shape == wish.kind]
            return np.asarray(np.logical_or.reduce(there))
        blanks = PAIR_MASKS[keys & 0xFF]
        larger = np.bitwise_or.reduce(MASKS[_SHAPE_OF_SLOT[:, None], places])
        cells = blanks if wish.kind == self.pieces.blank else ~(larger | blanks)
        return np.asarray(cells >> np.uint32(wish.corner[0] * COLUMNS + wish.corner[1]) & 1, dtype=np.bool_)

    def expand(self, keys: Keys) -> Expansion:
        metric = _METRICS.index(self.parameters["metric"])
        return self.expansion(keys, self.most_successors, partial(expand_keys, keys, metric))

    def are_keys(self, keys: Keys) -> Mask:
        """The pieces and blanks stand apart, the verticals in order."""
        places, pairs = _places(keys), keys & 255
        # Without cells where there is no such place.
        cells = np.bitwise_or.reduce(MASKS[_SHAPE_OF_SLOT[:, None], places])
        apart = np.bitwise_count(cells | PAIR_MASKS[np.minimum(pairs, len(PAIRS) - 1)]) == _COVERED
        return np.asarray(apart & (pairs < len(PAIRS)) & (places[2:-1] < places[3:]).all(axis=0))

    def mirrors(self) -> Sequence[Callable[[Keys], Keys]]:
        """The left-right mirror, which keeps moves, goal and metric."""
        return [_mirrored]

    symmetry_maps = mirrors

    def configurations(self) -> Iterator[Keys]:
        """One block per place of the daughter: 12 blocks, 65,880 keys."""
        for daughter, taken in enumerate(_CELLS[0]):
            keys = []
            for horizontal, own in enumerate(_CELLS[1]):
                covered = taken | own
                possible = [place for place, cells in enumerate(_CELLS[2]) if not cells & covered]
                for verticals in combinations(possible if not own & taken else (), 4):
                    free = _ALL_CELLS - covered.union(*(_CELLS[2][place] for place in verticals))
                    if len(free) == _SIZE - _COVERED + 2:
                        pairs = combinations(sorted(free), 2)
                        keys += [self._pack([daughter, horizontal, *verticals], blanks) for blanks in pairs]
            yield self.keys(keys)

    def check_key(self, key: Key) -> None:
        taken: dict[int, str] = {}

        def take(cells: Iterable[int], what: str) -> None:
            for cell in cells:
                if cell in taken:
                    where = "row {} column {}".format(*(place + 1 for place in divmod(cell, COLUMNS)))
                    raise ConfigurationError(f"{key:#010x}: {taken[cell]} and {what} both cover {where}")
                taken[cell] = what

        verticals = [(key >> shift) & 15 for shift in (20, 16, 12, 8)]
        if verticals != sorted(verticals):
            raise ConfigurationError(f"{key:#010x}: its vertical pieces are not in increasing order: {verticals}")
        for slot, shape in enumerate(SLOTS):
            place = (key >> (28 - 4 * slot)) & 15
            if place >= len(PLACES[shape]):
                raise ConfigurationError(
                    f"{key:#010x}: the {_SHAPE_NAMES[shape]} piece is at place {place} of {len(PLACES[shape])}"
                )
            take(_CELLS[shape][place], f"the {_SHAPE_NAMES[shape]} piece")
        if key & 0xFF >= len(PAIRS):
            raise ConfigurationError(f"{key:#010x}: the blanks are pair {key & 0xFF} of {len(PAIRS)}")
        for cell in PAIRS[key & 0xFF]:
            take([cell], "a blank")

    def parse_text(self, text: str) -> Key:
        pieces = parse_rectangles(text, ROWS, COLUMNS)
        for letter, piece in pieces.items():
            if (piece.height, piece.width) not in SHAPES:
                raise ConfigurationError(
                    f"piece {letter} is {piece.height}x{piece.width}; expected 2x2, 1x2, 2x1 or 1x1"
                )
        for shape, (name, wanted) in zip(SHAPES, _WANTED.items(), strict=True):
            letters = [letter for letter, piece in pieces.items() if (piece.height, piece.width) == shape]
            if len(letters) != wanted:
                which = f" ({', '.join(letters)})" if letters else ""
                raise ConfigurationError(f"expected {wanted} {name} pieces, found {len(letters)}{which}")
        return self.pack([PlacedPiece(SHAPES.index(piece[2:]), piece[:2]) for piece in pieces.values()])

    def unpack(self, key: Key) -> list[PlacedPiece]:
        """The ten pieces: daughter, horizontal, four verticals, four unit squares."""
        larger = [PlacedPiece(shape, PLACES[shape][(key >> (28 - 4 * slot)) & 15]) for slot, shape in enumerate(SLOTS)]
        units = self.pieces.blanks(larger).difference(PAIRS[key & 0xFF])
        return larger + [_UNITS[cell] for cell in sorted(units)]

    def pack(self, standing: list[PlacedPiece]) -> Key:
        places: list[list[int]] = [[], [], [], []]
        for piece in standing:
            places[piece.kind].append(_PLACE_OF[piece])
        first, second = sorted(self.pieces.blanks(standing))
        return self._pack([*places[0], *places[1], *sorted(places[2])], (first, second))

    @staticmethod
    def _pack(larger: list[int], blanks: tuple[int, ...]) -> Key:
        key = 0
        for place in larger:
            key = key << 4 | place
        return key << 8 | int(_PAIR_TABLE[blanks])


def _places(keys: Keys) -> Keys:
    """Return the place of each larger piece, by slot and key."""
    return np.asarray(keys >> _SHIFTS & np.uint32(15), dtype=np.uint32)


def _mirrored(keys: Keys) -> Keys:
    """Return the left-right mirror image of each key."""
    images = _MIRROR[_SHAPE_OF_SLOT[:, None], _places(keys)]
    images[2:].sort(axis=0)
    return np.asarray(np.bitwise_or.reduce(images << _SHIFTS) | _PAIR_MIRROR[keys & 255])
