"""Sliding blocks: moves by texts alone, the whole of small spaces, goals, mirrors, published boards, refusals."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cache
from itertools import groupby
from math import lgamma, log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakoiri.errors import ConfigurationError, Hint, PuzzleError, PuzzleWarning
from hakoiri.guests.boards.puzzle import Sliding
from hakoiri.guests.deals.hunt import HuntPlan
from hakoiri.guests.deals.job import StudyDeals
from hakoiri.guests.deals.kind import HuntKind
from hakoiri.guests.deals.searching import Leg, hardest_of, walk
from hakoiri.keys.layout import Key, Keys, ints
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.sliding_blocks.boards import expand_runs
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.puzzles.sliding_blocks.numbering import make_tables
from hakoiri.puzzles.sliding_blocks.sliding_kernels import _large_kinds
from tests.support.plain_search import layers_of, reference_layers
from tests.support.published import HAKOIRI
from tests.support.refusals import refused
from tests.support.runs import driven, opened, verified
from tests.support.seeds import usual

EXAMPLES = Path(__file__).parents[2] / "examples"
METRICS = ("unit", "straight", "finger")
START = HAKOIRI["start"]
DAD = "AABB/AACC/DE../FGHH/FGII"
SMALL = {
    "Dad's": DAD,
    "L and a wall": "AAB#/ACBB/CC../D.EE",
    "L and its mirror": "AAB/A.B/.BB",
    "ring": "AB./.#C/DD.",
    "hooks": "A.A.B/AAABB/.C..#",
    "two rooms": "A.#.B/CC#.D",
    "one row": "A.BB.C",
    "one column": "A/A/./B/./.",
    "no blanks": "AB/CC",
    "one piece": "AA../A...",
}
WIDE = {
    "u64": "AABBCCDD/AABBCCDD/EEFFGGHH/EEFFGGHH/IJKLMMNN/IJKLOP##/QQR.S.##/TTR.....",
    "u128 with walls": "Za.b.cd./WW#XX#YY/S.T.U.V./OOPPQQRR/K.L.M.N./FFGH#IJJ/ABBCCDDE/AAB#CDEE",
    "u128": ".Y.Z.a.b/U.V.W.X./QQRRSSTT/MMNNOOPP/EFGHIJKL/EFGHIJKL/AABBCCDD/AABBCCDD",
}
BOARDS = {"Hakoiri-musume": START} | SMALL | WIDE
MIRRORED = (START, DAD, "AA.BB/A...B/..C..", "AB.C/.##./DDE.", "A.BB.C", "A/./B", "AB/CC", WIDE["u128"])
STEPS = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}

Place = tuple[int, int]
Places = frozenset[Place]


def sliding(board: str, metric: str = "unit", goal: str = "") -> Sliding:
    return Sliding({"metric": metric, "goal": goal}, board)


def whole(puzzle: Puzzle) -> Keys:
    return np.concatenate(list(puzzle.configurations()))


def lists(puzzle: Puzzle, keys: Keys) -> Iterator[list[Key]]:
    """The successors of each key by the kernel, sorted."""
    found, counts = puzzle.expand(keys)
    assert puzzle.layout.holds(found)
    assert counts.dtype == np.uint16
    assert int(counts.sum()) == len(found)
    successors = iter(ints(found))
    for count in counts.tolist():
        yield sorted(next(successors) for _ in range(count))


def walked(puzzle: Puzzle, steps: int, seed: int) -> Keys:
    """The configurations of a random walk."""
    rng, key, seen = np.random.default_rng(seed), puzzle.start, {puzzle.start}
    for _ in range(steps):
        successors = next(lists(puzzle, puzzle.keys([key])))
        if successors:
            key = successors[int(rng.integers(len(successors)))]
        seen.add(key)
    return puzzle.keys(sorted(seen))


def pieces_of(text: str) -> tuple[dict[str, Places], Places]:
    """The cells of each letter, and the empty ones, read off a text."""
    cells: dict[str, set[Place]] = {}
    for row, line in enumerate(text.split("/")):
        for column, letter in enumerate(line):
            cells.setdefault(letter, set()).add((row, column))
    blanks = frozenset(cells.pop(".", ()))
    cells.pop("#", None)
    return {letter: frozenset(places) for letter, places in cells.items()}, blanks


def relabelled(text: str, kept: str = "") -> str:
    """Letters in reading order, but for those of the pieces that are told apart."""
    letters = dict.fromkeys(letter for letter in text if letter not in f"./#{kept}")
    free = (letter for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghij" if letter not in kept)
    new = dict(zip(letters, free, strict=False))
    return "".join(new.get(letter, letter) for letter in text)


def shown(puzzle: Puzzle, kept: str = "") -> Callable[[Key], str]:
    """The text of a key whatever the letters, but for those of the pieces that are told apart."""
    return lambda key: relabelled(puzzle.render(key), kept)


def drawn(text: str, letter: str, places: Places, kept: str = "") -> str:
    """The board after a piece went to these cells."""
    lines = [list(line.replace(letter, ".")) for line in text.split("/")]
    for row, column in places:
        lines[row][column] = letter
    return relabelled("/".join("".join(line) for line in lines), kept)


def pushed(places: Places, step: str) -> Places:
    down, right = STEPS[step]
    return frozenset((row + down, column + right) for row, column in places)


def neighbours(text: str, metric: str, kept: str = "") -> list[str]:
    """The boards after one move, by the rules alone; the pieces `kept` are told apart."""
    pieces, blanks = pieces_of(text)
    found = []
    for letter, own in pieces.items():
        seen, queue = {own}, deque([(own, step) for step in STEPS])
        while queue:
            here, step = queue.popleft()
            there = pushed(here, step)
            if there <= blanks | own and (there not in seen or metric == "straight"):
                seen.add(there)
                found.append(drawn(text, letter, there, kept))
                if metric != "unit":
                    queue += [(there, other) for other in STEPS if metric == "finger" or other == step]
    return sorted(found)


def replayed(text: str, move: str) -> str:
    """The board after a move in words such as ``"I right, down 2"``; every single step must lead to free cells."""
    letter, _, words = move.partition(" ")
    pieces, blanks = pieces_of(text)
    places = pieces[letter]
    for word in words.split(", "):
        name, _, times = word.partition(" ")
        for _ in range(int(times or 1)):
            places = pushed(places, name)
            assert places <= blanks | pieces[letter], move
    return drawn(text, letter, places)


def all_boards(text: str, kept: str = "") -> set[str]:
    """Every way to put the pieces of a board somewhere, tried one after another."""
    pieces, blanks = pieces_of(text)
    cells = blanks.union(*pieces.values())
    rows, columns = text.count("/") + 1, len(text.split("/", maxsplit=1)[0])
    found: set[str] = set()

    @cache
    def places_of(piece: Places) -> list[Places]:
        moved = [
            frozenset((row + down, column + right) for row, column in piece)
            for down in range(-rows, rows)
            for right in range(-columns, columns)
        ]
        return [places for places in moved if places <= cells]

    def put(letters: list[str], board: dict[Place, str]) -> None:
        if letters:
            for places in places_of(pieces[letters[0]]):
                if places.isdisjoint(board):
                    put(letters[1:], board | dict.fromkeys(places, letters[0]))
            return
        marks = dict.fromkeys(cells, ".") | board
        lines = ("".join(marks.get((row, column), "#") for column in range(columns)) for row in range(rows))
        found.add(relabelled("/".join(lines), kept))

    put(list(pieces), {})
    return found


def mirrored(text: str) -> str:
    return relabelled("/".join(line[::-1] for line in text.split("/")))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("name", BOARDS)
def test_moves_are_those_of_the_rules(name: str, metric: str) -> None:
    puzzle = sliding(BOARDS[name], metric)
    keys = walked(puzzle, 4 if name in WIDE else 30, seed=2)
    for key, found in zip(ints(keys), lists(puzzle, keys), strict=True):
        assert sorted(map(shown(puzzle), found)) == neighbours(puzzle.render(key), metric)
        for after in found:
            move = puzzle.describe_move(key, after)
            assert replayed(puzzle.render(key), move) == shown(puzzle)(after)
            assert metric == "finger" or "," not in move
            assert metric != "unit" or move.split(" ", 1)[1] in STEPS


def test_no_board_needs_more_than_128_bits() -> None:
    """The most sequences that pieces of any shapes on 64 cells have: as even as can be among those of equal size.

    A piece of more than eight cells would do no more than one of eight: there are more different ones than fit.
    """
    shapes = {1: 2, 2: 2, 3: 6, 4: 19, 5: 63, 6: 216, 7: 760, 8: 2725}  # OEIS A001168; with one cell also the blank.
    most = {(0, 0): 0.0}
    for size, kinds in shapes.items():
        following: dict[Place, float] = {}
        for (symbols, cells), ways in most.items():
            for pieces in range((64 - cells) // size + 1):
                each, more = divmod(pieces, kinds)
                same = more * lgamma(each + 2) + (kinds - more) * lgamma(each + 1)
                state = (symbols + pieces, cells + size * pieces)
                following[state] = max(following.get(state, -1e9), ways - same)
        most = following
    bits = max(ways + lgamma(symbols + 1) for (symbols, _), ways in most.items()) / log(2)
    assert 91 < bits < 92


@pytest.mark.parametrize("name", [name for name in SMALL if name != "Dad's"])
def test_whole_space_is_what_can_be_put_on_the_board(name: str) -> None:
    puzzle = sliding(SMALL[name])
    keys = whole(puzzle)
    assert set(map(shown(puzzle), keys.tolist())) == all_boards(SMALL[name])
    known = set(keys.tolist())
    refused = 0
    for key in range(max(known) + 50):
        if key in known:
            puzzle.check_key(key)
        else:
            with pytest.raises(ConfigurationError, match=f"^{key:#x}: "):
                puzzle.check_key(key)
            refused += 1
    assert refused >= 49


@pytest.mark.parametrize("board", ["AB/C.", "AAB/C..", "AAB/CDB/C..", "AABB/CCDD/EF../GH.."])
def test_kinds_of_large_pieces_come_first(board: str) -> None:
    puzzle = sliding(board)
    large = [len(kind.shape) > 1 for kind in puzzle.pieces.kinds]
    assert _large_kinds(puzzle._tables[0]) == sum(large)
    assert large == sorted(large, reverse=True)


def test_hakoiri_musume_is_one_of_these_boards(all_keys: Keys) -> None:
    puzzle, klotski = sliding(START), Klotski()
    keys = whole(puzzle)
    assert len(keys) == HAKOIRI["configurations"]
    assert len(puzzle.expand(keys).successors) == 2 * HAKOIRI["moves"]
    known = set(keys.tolist())
    sample = np.random.default_rng(4).choice(all_keys, 400, replace=False)
    texts = [klotski.render(key) for key in sample.tolist()]
    ours = puzzle.keys([puzzle.parse(text) for text in texts])
    assert known.issuperset(ours.tolist())
    assert [puzzle.render(key) for key in ours.tolist()] == texts
    for here, there in zip(lists(puzzle, ours), lists(klotski, sample), strict=True):
        assert {puzzle.render(key) for key in here} == {klotski.render(key) for key in there}


@usual(len(MIRRORED) - 1, "board", MIRRORED)
def test_mirror_is_the_text_read_backwards(board: str) -> None:
    puzzle = sliding(board, "finger")
    assert puzzle.has_mirrors
    keys = walked(puzzle, 8 if board in WIDE.values() else 50, seed=5)
    images = [puzzle.parse(mirrored(puzzle.render(key))) for key in ints(keys)]
    assert ints(puzzle.canonical(keys)) == [min(pair) for pair in zip(ints(keys), images, strict=True)]
    for here, there in zip(lists(puzzle, keys), lists(puzzle, puzzle.keys(images)), strict=True):
        assert {mirrored(puzzle.render(key)) for key in here} == set(map(shown(puzzle), there))


@pytest.mark.parametrize(
    ("board", "goal"),
    [
        (START, "B@4,1"),
        (START, "****/****/****/****/.***"),
        ("AAB/A.B/.BB", ""),
        ("AA.BB/A.B.B/..BBB", ""),
        ("AB./.#C/DD#", ""),
        ("AAB/A../.C.", ""),
    ],
)
def test_what_is_not_symmetric_has_no_mirrors(board: str, goal: str) -> None:
    puzzle = sliding(board, goal=goal)
    assert not puzzle.has_mirrors
    with refused(PuzzleError, "no mirror images", Hint("leave out", "merge_mirrors")):
        puzzle.canonical(puzzle.keys([puzzle.start]))


GOALS = [
    (START, "B@4,2", "****/****/****/*BB*/*BB*"),
    (START, " ****/****/****/*xx*/*xx* ", "****/****/****/*xx*/*xx*"),
    # Any upright piece and any small one will do.
    (START, "A@1,3", "**A*/**A*/****/****/****"),
    (START, "G@5,4", "****/****/****/****/***G"),
    (START, "****/Q***/Q***/*..*/****", "****/Q***/Q***/*..*/****"),
    (START, START, START),
    (SMALL["L and a wall"], "C@2,1", "***#/*C**/CC**/****"),
    (SMALL["L and a wall"], "****/****/**../**yy", "***#/****/**../**yy"),
    (SMALL["L and its mirror"], "A@2,1", "***/AA*/A**"),
]


@pytest.mark.parametrize(("board", "goal", "pinned"), GOALS)
def test_goals_are_pinned_as_boards_with_the_letters_that_were_typed(board: str, goal: str, pinned: str) -> None:
    swapped = str.maketrans("ABCDEFGHIJ", "JIHGFEDCBA")
    letter = goal[:1].translate(swapped) + goal[1:] if "@" in goal else goal
    # A piece that is meant by its letter, and is not the only one of its shape.
    several = pytest.warns(PuzzleWarning, match="satisfies it") if goal in ("A@1,3", "G@5,4") else nullcontext()
    with several:
        puzzles = [sliding(board, goal=goal), sliding(board.translate(swapped), goal=letter)]
    puzzles += [Sliding(puzzle.parameters, puzzle.render(puzzle.start)) for puzzle in puzzles]
    # What an earlier version pinned: canonical letters. It is the same goal, and stays as it is.
    puzzles.append(sliding(relabelled(board), goal=relabelled(pinned, "*")))
    keys = whole(puzzles[0])
    sample = np.random.default_rng(6).choice(keys, min(len(keys), 500), replace=False)
    kinds, boards = pieces_of(pinned)
    wanted = [set(kinds.values()) - {kinds.get("*")}, boards]
    expected = []
    for key in sample.tolist():
        pieces, blanks = pieces_of(puzzles[0].render(key))
        expected.append(wanted[0] <= set(pieces.values()) and wanted[1] <= blanks)
    for number, puzzle in enumerate(puzzles):
        text = pinned.translate(swapped) if "@" in goal and number in (1, 3) else pinned
        text = relabelled(pinned, "*") if number == len(puzzles) - 1 else text
        assert puzzle.parameters == {"metric": "unit", "goal": text}
        assert puzzle.start == puzzles[0].start
        assert puzzle.is_goal(sample).tolist() == expected
        assert puzzle.is_goal(keys).any()


def test_any_letters_are_read_and_those_of_the_start_rendered() -> None:
    board = "zzyy/zzxx/wv../uttr/uttr"
    with pytest.warns(PuzzleWarning):
        puzzle = sliding(board, "finger", goal="z@4,1")
    assert puzzle.render(puzzle.start) == puzzle.start_text() == board
    assert puzzle.parameters["goal"] == "****/****/****/zz**/zz**"
    assert puzzle.goal_text() == "any of z t (2x2) at row 4 column 1"
    moves = {puzzle.describe_move(puzzle.start, key) for key in puzzle.successors(puzzle.start)}
    assert {"v right", "v right 2", "r up"} <= moves
    assert puzzle.parse("AABB/AACC/DE../FGGH/FGGH") == puzzle.start
    # The first of equal pieces in reading order has the first of their letters in the start.
    assert puzzle.render(puzzle.parse("BBAA/CCAA/.w.v/uttr/uttr")) == "yyzz/xxzz/.w.v/uttr/uttr"


@pytest.mark.parametrize("letters", ["", "all"])
def test_a_path_has_the_letters_of_the_start_after_every_move(letters: str) -> None:
    puzzle = Sliding({"distinct": letters}, "DC/BA/..")
    path = [puzzle.parse(text) for text in ("DC/BA/..", "DC/.A/B.", "DC/A./B.")]
    assert puzzle.describe_moves(path) == ["B down", "A left"]
    assert puzzle.render_path(path) == ["DC/BA/..", "DC/.A/B.", "DC/A./B."]


def test_a_board_is_asked_for() -> None:
    with refused(PuzzleError, "sliding needs a board", Hint("give", "start", "BOARD|FILE")):
        PuzzleSpec("sliding").build()


@pytest.mark.parametrize(("name", "moves"), [("dads-puzzle", 83), ("hakoiri-musume", 116), ("corners", 35)])
def test_examples_can_be_solved(name: str, moves: int) -> None:
    told, *rows = (EXAMPLES / f"{name}.txt").read_text().splitlines()
    puzzle = sliding("/".join(rows), goal=told.split("--goal ")[1].rstrip("."))
    assert next(depth for depth, layer in enumerate(layers_of(puzzle)) if puzzle.is_goal(layer).any()) == moves


def test_boards_of_more_sequences_than_kernels_can_number_are_refused() -> None:
    """18 pieces of one kind, 17 and 9 of others, and 4 that are told apart, among 64 cells."""
    board = "ABCDEFGH/IJKLMNOP/QRSTUVWX/YZabcdef/ghijklmn/opqrstuv/......../........"
    options = {"axis": "STUVWXYZabcdefghi:row,jklmnopqr:column", "distinct": "s,t,u,v"}
    with pytest.raises(PuzzleError, match=r"more than 2\^128 sequences"):
        PuzzleSpec("sliding", options, board).build()


def test_tables_out_of_proportion_are_refused() -> None:
    with pytest.raises(PuzzleError, match="kinds of pieces need tables"):
        make_tables([[]] * 20, [1] * 20, frozenset(), 8)


# Pieces that are told apart: letter, pieces that have one, and what each is called elsewhere

APART = [
    ("AB./.#C/DD.", "A"),
    ("AB./.#C/DD.", "A,C"),
    ("AA.B/CC.D", "all"),
    ("zz.x/yy.w", "y,w"),
    ("AAB/A.B/.BB", "B"),
    ("12/34/5.", "all"),
    ("2143/....", "all"),
]


def apart(board: str, letters: str, metric: str = "unit", goal: str = "") -> Sliding:
    return Sliding({"metric": metric, "goal": goal, "distinct": letters}, board)


def kept_of(board: str, letters: str) -> str:
    return "".join(pieces_of(board)[0]) if letters == "all" else letters.replace(",", "")


@pytest.mark.parametrize("metric", METRICS)
@usual(6, ("board", "letters"), APART)
def test_pieces_that_are_told_apart_are_searched_as_boards_of_letters(board: str, letters: str, metric: str) -> None:
    puzzle, kept = apart(board, letters, metric), kept_of(board, letters)
    expected = reference_layers(lambda text: neighbours(text, metric, kept), relabelled(board, kept))
    assert [sorted(map(shown(puzzle, kept), layer.tolist())) for layer in layers_of(puzzle)] == expected
    for text in expected[-1]:
        assert shown(puzzle, kept)(puzzle.parse(text)) == text
    assert set(map(shown(puzzle, kept), whole(puzzle).tolist())) == all_boards(board, kept)


def test_told_apart_the_unit_squares_are_sliding_tiles() -> None:
    sizes = [1, 2, 3, 5, 6, 7, 10, 12, 12, 16, 23, 25, 28, 39, 44, 40, 29, 21, 18, 12, 6, 1]  # OEIS A090034
    assert [len(layer) for layer in layers_of(apart("12/34/5.", "all"))] == sizes
    found = [len(layer) for layer in layers_of(apart(".12/345/678", "all"))]
    assert (sum(found), len(found) - 1, found[-4:]) == (181_440, 31, [3910, 760, 221, 2])


@pytest.mark.parametrize("letters", ["A", "A,C", "all"])
@pytest.mark.parametrize("goal", ["A@2,2", "**/*A"])
def test_a_goal_means_the_very_piece_that_is_told_apart(goal: str, letters: str) -> None:
    board = "AB/C."
    puzzle, kept = apart(board, letters, goal=goal), kept_of(board, letters)
    assert puzzle.parameters == {"metric": "unit", "goal": "**/*A", "distinct": letters}
    expected = reference_layers(lambda text: neighbours(text, "unit", kept), board)
    found = [sorted(map(puzzle.render, layer[puzzle.is_goal(layer)].tolist())) for layer in layers_of(puzzle)]
    assert found == [[text for text in layer if text.endswith("A")] for layer in expected]
    assert next(depth for depth, goals in enumerate(found) if goals) == 5


def test_what_is_told_apart_keeps_its_letter_and_is_pinned() -> None:
    puzzle = apart("zz.x/yy.w", "w, z")
    assert puzzle.start_text() == "zz.x/yy.w"
    assert puzzle.parameters["distinct"] == "w,z"
    assert Sliding(puzzle.parameters, puzzle.start_text()).start == puzzle.start
    assert {puzzle.describe_move(puzzle.start, key) for key in puzzle.successors(puzzle.start)} == {
        "z right", "y right", "x left", "w left"
    }  # fmt: skip
    assert apart("zz.x/yy.w", "w,z,y,x").parameters["distinct"] == "all"
    # Where nothing is told apart, all is as if there were no such option.
    assert apart("zz.x/yy.w", " ").parameters == {"metric": "unit", "goal": ""}


@pytest.mark.parametrize(
    ("board", "distinct", "exchanges"),
    [
        ("AB/C.", "all", ["AB", "BC"]),
        ("AAB/C.B/.D.", "A,C,D", ["CD"]),
        ("AB#/C..", "A,B", ["CA", "AB"]),
        ("AAB/.CC", "", []),
    ],
)
def test_symmetry_maps_reflect_boards_and_exchange_distinct_pieces(
    board: str, distinct: str, exchanges: list[str]
) -> None:
    puzzle = Sliding({"distinct": distinct}, board)
    keys = np.concatenate(list(puzzle.configurations()))
    texts = [puzzle.render(key).split("/") for key in ints(keys)]
    flips = [] if "#" in board else [(1, -1), (-1, 1), (-1, -1)]
    expected = [["/".join(row[::across] for row in rows[::down]) for rows in texts] for down, across in flips]
    traded = [str.maketrans(pair, pair[::-1]) for pair in exchanges]
    expected += [["/".join(rows).translate(letters) for rows in texts] for letters in traded]
    found = [[puzzle.render(key) for key in ints(symmetry(keys))] for symmetry in puzzle.symmetry_maps()]
    assert found == [[puzzle.render(puzzle.parse(text)) for text in image] for image in expected]


# Pieces that are bound to an axis: cars moved by plain rules on texts, boards of one line, goals, hunts, pictures


#: First row of the database of fogleman/rush: moves, board, reachable configurations.
HARDEST = (60, "IBBxooIooLDDJAALooJoKEEMFFKooMGGHHHM", 2_332)
CARS = "BAA./B..C/DDEC/..E."
BOUND = {"axis": "rows-and-columns", "metric": "straight"}


def cars(board: str = CARS, goal: str = "A@1,3", **options: str) -> Sliding:
    return Sliding(BOUND | ({"goal": goal} if goal else {}) | options, board)


def slid(board: str, width: int) -> list[tuple[str, int]]:
    """Every move of a car along its length: the board after it, and how many cells far it goes."""
    found = []
    for car in sorted(set(board) - set(".x")):
        cells = [cell for cell, letter in enumerate(board) if letter == car]
        step = 1 if cells[0] // width == cells[-1] // width else width
        for sign, front in ((-step, cells[0]), (step, cells[-1])):
            length, cell = 1, front + sign
            while 0 <= cell < len(board) and board[cell] == "." and (step > 1 or cell // width == front // width):
                moved = [each + sign * length for each in cells]
                after = ["." if letter == car else letter for letter in board]
                for each in moved:
                    after[each] = car
                found.append(("".join(after), length))
                length, cell = length + 1, cell + sign
    return found


def distances(board: str, width: int) -> dict[str, int]:
    """Straight moves from a board to each that it leads to, by the plain rules."""
    found, queue = {board: 0}, [board]
    for here in queue:
        for after, _ in slid(here, width):
            if after not in found:
                found[after] = found[here] + 1
                queue.append(after)
    return found


def rows(board: str, width: int) -> str:
    lines = (board[begin : begin + width] for begin in range(0, len(board), width))
    return "/".join(lines).replace("x", "#")


def moves_of(puzzle: Sliding) -> set[str]:
    return {puzzle.describe_move(puzzle.start, key) for key in puzzle.successors(puzzle.start)}


@pytest.mark.ci_slow
def test_the_hardest_board_of_a_collection_is_as_published() -> None:
    moves, board, reachable = HARDEST
    puzzle = cars(board, goal="")
    assert puzzle.parameters["goal"] == "***#**/******/****AA/******/******/******"
    plain = distances(board.replace("o", "."), 6)
    found = list(layers_of(puzzle))
    assert {puzzle.parse(rows(text, 6)) for text in plain} == {key for layer in found for key in ints(layer)}
    assert len(plain) == reachable
    solved = [distance for text, distance in plain.items() if text[16:18] == "AA"]
    assert min(solved) == [bool(puzzle.is_goal(layer).any()) for layer in found].index(True) == moves


@pytest.mark.parametrize("metric", ["unit", "straight", "finger"])
def test_cars_move_along_their_length_only(metric: str) -> None:
    puzzle = cars(metric=metric)
    boards = distances(CARS.replace("/", ""), 4)
    assert len(boards) == 10
    for text in boards:
        key = puzzle.parse(rows(text, 4))
        allowed = [after for after, far in slid(text, 4) if metric != "unit" or far == 1]
        expected = {puzzle.parse(rows(after, 4)) for after in allowed}
        assert set(puzzle.successors(key)) == set(ints(puzzle.expand(puzzle.keys([key])).successors)) == expected


def test_squares_and_bent_pieces_move_as_ever() -> None:
    puzzle = cars("AA./A../..B", goal="")
    assert moves_of(puzzle) == {"A right", "A down", "B left", "B left 2", "B up", "B up 2"}


@pytest.mark.parametrize(
    ("axis", "moves"),
    [
        ("A:row, C:column ,B:column", {"A right", "B up", "B down", "C down"}),
        ("A:row,BC:column", {"A right", "B up", "B down", "C down"}),
        ("A:column,B:row,C:row", {"A down", "B left", "B right", "C left"}),
    ],
)
def test_pieces_are_bound_by_their_letters_and_keep_them(axis: str, moves: set[str]) -> None:
    puzzle = Sliding({"axis": axis}, "A.C/..C/.B./...")
    assert moves_of(puzzle) == moves
    assert puzzle.start_text() == "A.C/..C/.B./..."
    assert Sliding(puzzle.parameters, puzzle.start_text()).start == puzzle.start


def test_letters_of_one_shape_and_axis_are_the_same_and_others_distinct() -> None:
    puzzle = Sliding({"axis": "A:row,C:row,B:column"}, "AB/C./..")
    assert puzzle.parameters["axis"] == "A:row,B:column,C:row"
    assert puzzle.parse("CB/A./..") == puzzle.start != puzzle.parse("BA/C./..")
    assert puzzle.render(puzzle.parse("CB/A./..")) == "AB/C./.."
    assert len(np.concatenate(list(puzzle.configurations()))) == 6 * 5 * 4 // 2


def test_a_board_of_one_line_is_one_in_rows() -> None:
    _, line, _ = HARDEST
    one, other = cars(line, goal=""), cars(rows(line.replace("o", "."), 6), goal="A@3,5")
    assert (one.start, one.parameters) == (other.start, other.parameters)
    # A short line is a single row, and elsewhere o and x are letters of pieces.
    assert Sliding({}, "A.Bo.xC..").pieces.rows == 1
    assert set(Sliding({"distinct": "o,x"}, "oxA/...").pieces.letters) == {"o", "x"}
    with pytest.raises(ConfigurationError, match="joined by '/', and only a square board of 5 x 5 to 8 x 8"):
        cars(line[:30], goal="")
    with pytest.raises(ConfigurationError, match=r"row 1 .IBB#\*"):
        cars(line.replace("oo", "*o"))


def test_a_goal_is_meant_by_the_line_that_a_car_keeps_to() -> None:
    cars(HARDEST[1], goal="A@3,5")
    with pytest.warns(PuzzleWarning, match="any of the 2 pieces"):
        cars("AABB../....../....../....../....../......", goal="A@1,5")
    with pytest.raises(PuzzleError, match="piece A cannot leave its row"):
        cars(goal="A@2,1")


# Hunts


@pytest.fixture(scope="module")
def hunt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hunted_for(tmp_path_factory.mktemp("hunt"), 8, workers=1)


def hunted_for(data: Path, legs: int, workers: int = 2) -> Path:
    spec = PuzzleSpec("sliding", dict(BOUND, goal="A@1,3"), CARS)
    plan = {"objective": "moves", "seed": 1, "cap": 100_000, "pool": 4, "work": 160_000}
    return driven(data, spec, "hunt", plan, {"seconds": None, "legs": legs}, workers=workers)


@pytest.mark.ci_slow
def test_a_hunt_for_boards_is_the_same_however_it_is_cut(hunt: Path, tmp_path: Path) -> None:
    for legs in (3, 8):
        cut = hunted_for(tmp_path, legs)
    with opened(hunt) as whole, opened(cut) as other:
        best, again = whole.best, other.best
    assert (best.deal, best.score, best.figures) == (again.deal, again.score, again.figures)
    puzzle = cars()
    assert hardest_of(puzzle, puzzle.parse(best.deal), 100_000)[:2] == (puzzle.parse(best.deal), best.score)
    assert best.score > hardest_of(puzzle, puzzle.start, 100_000)[1]
    assert verified(hunt).ok


def test_walks_of_the_other_objectives_keep_to_their_boards() -> None:
    puzzle = cars()
    walked = walk(puzzle, Leg(CARS, "positions", 1, 0.1, 5_000, 100_000, 1))
    assert walked.figures is not None
    assert walked.best_score == walked.figures.positions


def test_a_hunt_for_moves_needs_a_goal_and_studies_need_sizes() -> None:
    puzzle = PuzzleSpec("sliding", BOUND, CARS).build()
    with refused(PuzzleError, "has no goal", Hint("give", "goal", "CONF")):
        HuntPlan.made(puzzle, HuntKind(objective="moves"))
    assert HuntPlan.made(puzzle, HuntKind()).work > 0
    with pytest.raises(PuzzleError, match="puzzles that can: gap and superpuzz"):
        StudyDeals.puzzle_kind(PuzzleSpec("sliding"))


# Run-length boards: round trips, the published example of Sokoban, and what is refused


#: "Claire" by L. J. Haywood, as the Sokoban Wiki writes it.
CLAIRE = "7#|#.@-#-#|#$*-$-#|#3-$-#|#-2.2-#|#2-*2-#|7#"
CLAIRE_IN_ROWS = "#######/#.@-#-#/#$*-$-#/#---$-#/#-..--#/#--*--#/#######"

MARKS = st.characters(codec="ascii", categories=("L", "P", "S"), exclude_characters="/|")
ROWS = st.lists(st.text(MARKS, max_size=200), min_size=2, max_size=9)


def packed(row: str, least: int) -> str:
    """A row with its runs of `least` marks or more as a number and a mark."""
    runs = [(len([*same]), mark) for mark, same in groupby(row)]
    return "".join(f"{count}{mark}" if count >= least else mark * count for count, mark in runs)


@pytest.mark.ci_slow
@given(ROWS, st.integers(1, 4))
def test_a_board_comes_back(rows: list[str], least: int) -> None:
    runs = "|".join(packed(row, least) for row in rows)
    # The last row may end with a bar like the others.
    rows = rows if rows[-1] else rows[:-1]
    assert expand_runs(runs) == "/".join(rows)
    width = max(map(len, rows))
    assert expand_runs(runs, "-") == "/".join(row.ljust(width, "-") for row in rows)
    assert expand_runs(runs.replace("|", "")) == runs.replace("|", "")


def test_the_published_example() -> None:
    assert expand_runs(CLAIRE) == CLAIRE_IN_ROWS
    assert expand_runs("4#|#@$.#|3#", "-") == expand_runs("4#|#@$.#|3#|", "-") == "####-/#@$.#/###--"


def test_boards_of_sliding_blocks() -> None:
    runs = "|".join(packed(row, 2) for row in HAKOIRI["start"].split("/"))
    assert runs == "A2BC|A2BC|D2EF|DGHF|I2.J"
    assert Klotski({}, runs).start == Klotski().start
    goal = "4*|4*|4*|*2B*|*2B*"
    puzzle = PuzzleSpec("sliding", {"goal": goal}, runs).build()
    assert puzzle.start_text() == HAKOIRI["start"]
    assert puzzle.parameters["goal"] == "****/****/****/*BB*/*BB*"
    # As many marks as a board of one line has.
    assert len(text := "ABCDEFG|2L5M|7.|7.|3NOPQ.") == 25
    assert PuzzleSpec("sliding", {}, text).build().start_text().count("/") == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("999A" * 66 + "|A", "2 rows of 65,934 marks, above 65,536 marks"),
        ("999A" + "|A" * 66, "67 rows of 999 marks, above 65,536 marks"),
    ],
)
def test_boards_too_large_are_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        PuzzleSpec("sliding", {}, text).build()


@pytest.mark.parametrize("metric", METRICS)
def test_hakoiri_musume_is_searched_alike(metric: str) -> None:
    ours, klotski = sliding(START, metric, "B@4,2"), Klotski({"metric": metric})
    found = list(layers_of(ours))
    sizes = [len(layer) for layer in found]
    assert sum(sizes) == HAKOIRI["reachable"]
    solved = next(depth for depth, layer in enumerate(found) if ours.is_goal(layer).any())
    assert solved == HAKOIRI["solution by metric"][metric]
    assert sizes == [len(layer) for layer in layers_of(klotski)]
    if metric == "unit":
        assert len(sizes) - 1 == HAKOIRI["eccentricity of the start"]
        assert sizes[:10] == HAKOIRI["layers begin"]


@pytest.mark.ci_slow
def test_dads_puzzle() -> None:
    puzzle = sliding(DAD)
    found = list(layers_of(puzzle))
    keys = np.sort(np.concatenate(found))
    assert (len(keys), len(found) - 1) == (1_398, 112)
    beside = np.arange(len(keys))[:, None].repeat(7, axis=1)
    for place, successors in enumerate(lists(puzzle, keys)):
        beside[place, : len(successors)] = np.searchsorted(keys, successors)
    reached: np.ndarray = np.eye(len(keys), dtype=np.bool_)
    radius, left = 0, 0
    while not reached.all():
        left = reached.size - int(reached.sum())
        reached, radius = np.any(reached[beside], axis=1), radius + 1
    assert (radius, left) == (145, 2)


def test_whole_space_with_mirrors_merged() -> None:
    merged = PuzzleSpec("sliding", start=START, merge_mirrors=True).build()
    assert len(whole(merged)) == HAKOIRI["configurations, mirrors merged"]


def test_a_kernel_never_writes_beyond_its_room() -> None:
    puzzle = sliding(START)
    puzzle.most_successors = 1
    with pytest.raises(PuzzleError, match="more than 1 successors"):
        puzzle.expand(whole(puzzle)[:1_000])


def test_a_goal_of_one_piece_among_others_of_its_shape_is_warned_of() -> None:
    with pytest.warns(PuzzleWarning, match=r"any of the 3 pieces of the shape of A satisfies it; .* distinct=A"):
        puzzle = sliding("AB/C.", goal="A@2,2")
    found = list(layers_of(puzzle))
    assert next(depth for depth, layer in enumerate(found) if puzzle.is_goal(layer).any()) == 1
    # The manifest pins the goal as a board, and a board causes no warning.
    assert sliding("AB/C.", goal=puzzle.parameters["goal"]).is_goal(found[1]).any()
