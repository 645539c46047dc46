"""Hakoiri-musume, known abroad as Klotski: 65,880 configurations of ten pieces on a board of 4 x 5.

The packing is the one of Goto, Kawai and Sasaki ("Hakoiri-musume and L6", section 2). The six larger pieces have at
most 16 places each, so four bits apiece. The two blanks have 190 states, so eight bits. The four unit squares fill what
is left. From the highest bit:

    bits 31..28  daughter, 2x2: row * 3 + column of its top left cell, 12 places
    bits 27..24  horizontal, 1x2 (one row, two columns): row * 3 + column, 15 places
    bits 23..8   four verticals, 2x1: row * 4 + column, 16 places, in increasing order so that the packing is unique
    bits  7..0   the pair of blank cells, numbered 0..189 in lexicographic order
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import combinations

import numpy as np

from hakoiri.puzzles.contract import Expansion, Matching
from hakoiri.puzzles.errors import ConfigurationError
from hakoiri.puzzles.keys.layout import U32, Key, Keys, Mask
from hakoiri.puzzles.options import Choice
from hakoiri.puzzles.sliding_blocks.boards import ANYTHING, parse_board, parse_rectangles
from hakoiri.puzzles.sliding_blocks.klotski_kernels import (
    COLUMNS,
    MASKS,
    PAIR_MASKS,
    PAIRS,
    PLACES,
    ROWS,
    SHAPES,
    SLOTS,
    expand_keys,
    find_configurations,
    mirror_keys,
)
from hakoiri.puzzles.sliding_blocks.pieces import Blocks, PieceSet, PlacedPiece
from hakoiri.puzzles.sliding_blocks.wishes import Wishes, goal_board, remark_on_letters

USUAL_START = "ABBC/ABBC/DEEF/DGHF/I..J"
_METRICS = ("unit", "straight", "finger")
_WANTED = {"2x2": 1, "horizontal 1x2": 1, "vertical 2x1": 4, "1x1": 4}
_SHAPE_NAMES = tuple(_WANTED)
_GOAL_PLACE = PLACES[0].index((3, 1))
_USUAL_GOAL = Wishes({PlacedPiece(0, (3, 1))})

_PAIR_NUMBER = {pair: number for number, pair in enumerate(PAIRS)}
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
    has_mirrors = True

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
        goal: Mask = (keys >> 28) == _GOAL_PLACE
        return goal

    def match(self, pattern: str) -> Matching:
        """Pieces by their shapes: letters mean nothing."""
        wishes = goal_board(self.pieces, pattern.replace("?", ANYTHING))
        return lambda keys: np.logical_and.reduce(
            [np.ones(len(keys), dtype=np.bool_), *(self._stands(keys, wish) for wish in wishes)]
        )

    def _stands(self, keys: Keys, wish: PlacedPiece) -> Mask:
        """Return for each key whether a piece of this kind, or a blank, is there."""
        places = [keys >> (28 - 4 * slot) & 15 for slot in range(len(SLOTS))]
        if wish in _PLACE_OF and wish.kind != _UNITS[0].kind:
            there = [places[slot] == _PLACE_OF[wish] for slot, shape in enumerate(SLOTS) if shape == wish.kind]
            found: Mask = np.logical_or.reduce(there)
            return found
        blanks = PAIR_MASKS[keys & 0xFF]
        larger = np.bitwise_or.reduce([MASKS[shape, place] for shape, place in zip(SLOTS, places, strict=True)])
        cells = blanks if wish.kind == self.pieces.blank else ~(larger | blanks)
        return np.asarray(cells >> np.uint32(wish.corner[0] * COLUMNS + wish.corner[1]) & 1, dtype=np.bool_)

    def expand(self, keys: Keys) -> Expansion:
        metric = _METRICS.index(self.parameters["metric"])
        return self.expansion(keys, self.most_successors, partial(expand_keys, keys, metric))

    def are_keys(self, keys: Keys) -> Mask:
        found = np.empty(len(keys), dtype=np.bool_)
        find_configurations(keys, found)
        return found

    def canonical(self, keys: Keys) -> Keys:
        """The lesser of each key and its left-right mirror image, which keeps moves, goal and metric."""
        return np.minimum(keys, _mirrored(keys))

    def symmetry_maps(self) -> Sequence[Callable[[Keys], Keys]]:
        """The left-right mirror."""
        return [_mirrored]

    def configurations(self) -> Iterator[Keys]:
        """One block per place of the daughter: 12 blocks, 65,880 keys."""
        for daughter in range(len(PLACES[0])):
            keys = [
                self._pack([daughter, horizontal, *verticals], blanks)
                for horizontal, verticals, free in _fill_larger(_CELLS[0][daughter])
                for blanks in combinations(free, 2)
            ]
            yield self.keys(keys)

    def check_key(self, key: Key) -> None:
        taken: dict[int, str] = {}
        verticals = [(key >> shift) & 15 for shift in (20, 16, 12, 8)]
        if verticals != sorted(verticals):
            raise ConfigurationError(f"{key:#010x}: its vertical pieces are not in increasing order: {verticals}")
        for slot, shape in enumerate(SLOTS):
            place = (key >> (28 - 4 * slot)) & 15
            if place >= len(PLACES[shape]):
                raise ConfigurationError(
                    f"{key:#010x}: the {_SHAPE_NAMES[shape]} piece is at place {place} of {len(PLACES[shape])}"
                )
            _take(key, taken, _CELLS[shape][place], f"the {_SHAPE_NAMES[shape]} piece")
        if key & 0xFF >= len(PAIRS):
            raise ConfigurationError(f"{key:#010x}: the blanks are pair {key & 0xFF} of {len(PAIRS)}")
        for cell in PAIRS[key & 0xFF]:
            _take(key, taken, [cell], "a blank")

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
        return key << 8 | _PAIR_NUMBER[blanks[0], blanks[1]]


def _mirrored(keys: Keys) -> Keys:
    images = np.empty_like(keys)
    mirror_keys(keys, images)
    return images


def _take(key: Key, taken: dict[int, str], cells: Iterable[int], what: str) -> None:
    for cell in cells:
        if cell in taken:
            row, column = divmod(cell, COLUMNS)
            raise ConfigurationError(
                f"{key:#010x}: {taken[cell]} and {what} both cover row {row + 1} column {column + 1}"
            )
        taken[cell] = what


def _fill_larger(taken: frozenset[int]) -> Iterator[tuple[int, tuple[int, ...], list[int]]]:
    """Places of the horizontal and the verticals beside a daughter, in key order, with the six cells left free."""
    for horizontal, own in enumerate(_CELLS[1]):
        if own & taken:
            continue
        covered = taken | own
        possible = [place for place, cells in enumerate(_CELLS[2]) if not cells & covered]
        for verticals in combinations(possible, 4):
            cells = [cell for place in verticals for cell in _CELLS[2][place]]
            if len(set(cells)) == len(cells):
                yield horizontal, verticals, sorted(_ALL_CELLS - covered - set(cells))
