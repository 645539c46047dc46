"""Puzzles of definitions: the numbering against a plain search, all formats, and files that are wrong."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from hakoiri import Resources, explore, explore_permutations
from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.runs.certificate import verify_file
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import ConfigurationError, PuzzleError
from hakoiri.keys.layout import ints
from hakoiri.puzzles.conformance.pool import Case, explored
from hakoiri.puzzles.conformance.rules import check_map
from hakoiri.puzzles.conformance.suite import refusals
from hakoiri.puzzles.definitions import coordinates
from hakoiri.puzzles.definitions.coordinates import Ranked
from hakoiri.puzzles.definitions.definition import Definition, Orbit
from hakoiri.puzzles.definitions.formats import read_definition
from hakoiri.puzzles.definitions.mixed import Mixed
from hakoiri.puzzles.definitions.puzzle import Defined, definition_class
from hakoiri.puzzles.definitions.stickers import from_permutations
from hakoiri.puzzles.permutation.orders import arrangements, number_of, order_of
from hakoiri.puzzles.registry import PuzzleSpec, with_own_file
from hakoiri.puzzles.twisty.cube2 import Cube2
from tests.support.geometry import (
    FOLDER,
    as_gap,
    as_kpuzzle,
    as_tws,
    cube_corners,
    files,
    reversals,
    shifts,
    with_rotations,
)

#: A puzzle of three corners, of which one is two-coloured, and two centres that are alike.
TWS = """
# A small puzzle.
Name Small
Set CORNER 4 3
Set CENTER 3 1
Solved
CORNER
1 2 3 3
0 0 0 0
CENTER
1 2 2
End
Move A
CORNER
2 3 1 4
1 1 1 0
End
Move B
CORNER
1 2 4 3
0 0 0 0
CENTER
2 3 1
End
MoveSequence AB A B'
"""
EXAMPLES = sorted(FOLDER.iterdir())


def puzzle_of(definition: Definition, **options: str) -> Defined:
    return definition_class("made.tws", definition.checked().text())(options)


def plainly(definition: Definition, **options: str) -> list[int]:
    """Return the sizes of the layers by a search of rows of pieces, in which nothing is numbered."""
    moves = definition.multiples(definition.usual, options.get("metric", "half")).values()
    ends = np.cumsum([orbit.places for orbit in definition.orbits])
    orbits = [int(np.searchsorted(ends, place, side="right")) for place in range(ends[-1])]
    seen = dict(zip(zip(orbits, definition.pieces, strict=True), definition.seen, strict=True))
    start = tuple(zip(definition.pieces, definition.twists, strict=True))
    known, layer, sizes = {start}, [start], list[int]()
    while layer:
        sizes.append(len(layer))
        after = {
            tuple(
                (state[source][0], (state[source][1] + twist) % seen[orbits[place], state[source][0]])
                for place, (source, twist) in enumerate(zip(*move, strict=True))
            )
            for state in layer
            for move in moves
        }
        after = {state for state in after if all(state[place][0] != piece for place, piece in definition.illegal)}
        layer = sorted(after - known)
        known.update(layer)
    return sizes


def by_layers(puzzle: Defined) -> list[int]:
    """Return the sizes of the layers by the kernels, and compare a part with `successors`."""
    known, layer, sizes = np.zeros(puzzle.size, dtype=np.bool_), puzzle.keys([puzzle.start]), list[int]()
    known[layer] = True
    while len(layer):
        sizes.append(len(layer))
        after = puzzle.expand(layer).successors
        some = layer[:: max(1, len(layer) // 20)]
        assert ints(puzzle.expand(some).successors) == [key for each in ints(some) for key in puzzle.successors(each)]
        layer = np.unique(after[~known[after]])
        known[layer] = True
    return sizes


def random_definition(random: Random) -> Definition:
    """Return a small puzzle: orbits, moves, identical pieces and orientations by chance."""
    orbits = [Orbit("O", random.randint(2, 4), random.choice([1, 2, 3])), Orbit("P", 2, random.choice([2, 4]))]
    pieces, seen = list[int](), list[int]()
    for orbit in orbits:
        alike = random.random() < 0.5
        row = [random.randrange(2) if alike else place for place in range(orbit.places)]
        mods = [random.choice([m for m in range(1, orbit.orientations + 1) if orbit.orientations % m == 0])] * 5
        if random.random() < 0.4:
            mods = [1, *mods]
        pieces, seen = pieces + row, seen + [mods[min(piece, 4)] for piece in row]
    twists = [random.randrange(most) for most in seen]
    moves = {}
    for name in "AB":
        source, twist = list[int](), list[int]()
        for orbit in orbits:
            row = list(range(len(source), len(source) + orbit.places))
            random.shuffle(row)
            source += row
            twist += [random.randrange(orbit.orientations) for _ in row]
        moves[name] = (source, twist)
    wrong = [(place, piece) for place, solved in enumerate(pieces) for piece in range(3) if piece != solved]
    return Definition(
        name="random", orbits=orbits, pieces=pieces, twists=twists, seen=seen, moves=moves, usual=["A", "B"],
        illegal=random.sample(wrong, 2) if random.random() < 0.3 else [],
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_numbers_are_those_of_a_plain_search(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    definition = random_definition(random)
    if seed % 2:
        # Orders of few pieces, too, are ranked.
        monkeypatch.setattr(coordinates, "_LEAST_RANKED", 10)
    metric = random.choice(["half", "quarter", "given"])
    try:
        puzzle = puzzle_of(definition, metric=metric)
    except PuzzleError as error:
        assert "changes anything" in str(error) or "has 0 moves" in str(error)
        return
    sizes = by_layers(puzzle)
    assert sizes == plainly(definition, metric=metric)
    assert sum(sizes) <= puzzle.size
    assert puzzle.total in (None, sum(sizes))


@pytest.mark.parametrize("labels", [range(9), range(10), (0, 0, 1, 1, 1, 2, 3, 4, 4, 5), (0, 1) * 5])
def test_ranks_are_those_of_all_orders(labels: Sequence[int]) -> None:
    row = sorted(labels)
    count = arrangements(row)
    for rank in Random(1).sample(range(count), 200):
        assert number_of(order_of(rank, row)) == rank
    assert order_of(0, row) == row


@pytest.mark.parametrize("even", [False, True])
def test_a_ranked_order_moves_as_its_pieces_do(even: bool) -> None:
    """In blocks, one by one, and unsorted."""
    moves = shifts(11, "L") | reversals(11, range(4, 6)) if even else reversals(10, range(2, 11))
    puzzle = puzzle_of(from_permutations("ranked", moves, [], 0), metric="given")
    assert isinstance(puzzle._numbering, Mixed)
    (last,) = puzzle._numbering.parts
    assert isinstance(last, Ranked)
    assert last.halved == even
    random = Random(3)
    for keys in (
        np.arange(50_000, 53_000, dtype=np.uint32),
        np.array(random.sample(range(puzzle.size), 400), dtype=np.uint32),
    ):
        found = ints(puzzle.expand(keys).successors)
        for index in range(0, len(keys), 19):
            at = index * puzzle.most_successors
            assert found[at : at + puzzle.most_successors] == puzzle.successors(int(keys[index]))


@pytest.mark.ci_slow
def test_equal_pieces_in_many_places_are_ranked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinates, "MOST_STATES", 1_000)
    moves = shifts(8, "L") | reversals(8, range(4, 5))
    definition = from_permutations("alike", moves, [[1, 3], [4, 5, 6]], 0)
    puzzle = puzzle_of(definition, metric="quarter")
    assert isinstance(puzzle._numbering, Mixed)
    assert isinstance(puzzle._numbering.parts[-1], Ranked)
    known = by_layers(puzzle)
    assert known == plainly(definition, metric="quarter")
    assert sum(known) == puzzle.size


@pytest.mark.ci_slow
def test_coupled_coordinates_are_numbered_without_gaps() -> None:
    sizes = {path.name: puzzle_of(read_definition(str(path))).size for path in EXAMPLES if path.name != "dino.gap"}
    assert sizes == {
        "2x2x2.gap": 3_674_160, "3x3x3.gap": 43_252_003_274_489_856_000,
        "corners.gap": 88_179_840, "corners.json": 88_179_840, "skewb.tws": 3_149_280, "pyraminx.json": 933_120,
        "topspin-10-4.tws": 3_628_800, "pancakes-9.gap": 362_880, "lx-9.gap": 362_880,
    }  # fmt: skip


def test_the_examples_are_made_from_their_geometry() -> None:
    assert {path.name: path.read_text() for path in EXAMPLES} == files()


def test_stickers_are_read_as_the_built_in_cube_has_them() -> None:
    """The stickers of the built-in puzzle, of which nothing else is known, become its corners and twists."""
    cube = Cube2()
    definition = from_permutations("cube", {face: list(cube.sticker_turns[face]) for face in "URF"}, [], 1)
    assert definition.orbits == [Orbit("orbit1", 7, 3)]
    puzzle = puzzle_of(definition)
    assert puzzle.size == cube.size == 3_674_160
    assert by_first_layers(puzzle, 6) == by_first_layers(cube, 6)


@pytest.mark.ci_slow
def test_keys_of_two_words() -> None:
    """The 3x3x3 has more than 2^64 positions: the outer number is a word of its own."""
    puzzle = puzzle_of(read_definition(str(FOLDER / "3x3x3.gap")))
    assert puzzle.layout.name == "u128"
    assert by_first_layers(puzzle, 3) == [1, 18, 243, 3_240]
    random, key = Random(5), puzzle.start
    for _ in range(60):
        assert ints(puzzle.expand(puzzle.keys([key])).successors) == puzzle.successors(key)
        assert puzzle.parse(puzzle.render(key)) == key
        key = random.choice(puzzle.successors(key))


def by_first_layers(puzzle: Cube2 | Defined, depth: int) -> list[int]:
    known, layer, sizes = {puzzle.start}, [puzzle.start], [1]
    for _ in range(depth):
        after = {*ints(puzzle.expand(puzzle.keys(layer)).successors)} - known
        known |= after
        layer = sorted(after)
        sizes.append(len(layer))
    return sizes


def test_formats_say_the_same(tmp_path: Path) -> None:
    definition = from_permutations("corners", cube_corners("URF"), [], 1)
    (tmp_path / "a.tws").write_text(as_tws(definition))
    (tmp_path / "a.json").write_text(as_kpuzzle(definition))
    (tmp_path / "a.gap").write_text(as_gap(cube_corners("URF")))
    found = [read_definition(str(tmp_path / f"a.{ending}")) for ending in ("tws", "json", "gap")]
    assert {(str(each.moves), str(each.orbits)) for each in found} == {(str(definition.moves), str(definition.orbits))}
    puzzles = [puzzle_of(each) for each in found]
    algorithm = "R U R' F2 [R, U] (U R)5"
    assert len({puzzle.parse(algorithm) for puzzle in puzzles}) == 1
    key = puzzles[0].start
    for move in ["R", "U", "R'", "F2", "R", "U", "R'", "U'", "U", "R", "U", "R", "U", "R", "U", "R", "U", "R"]:
        key = puzzles[0].successors(key)[list(puzzles[0]._moves).index(move)]
    assert key == puzzles[0].parse(algorithm)


def test_identical_pieces_by_one_of_their_stickers() -> None:
    """In GAP files a list ``ip`` names one sticker of each piece."""
    moves = cube_corners("URF")
    plain = from_permutations("corners", moves, [], 1)
    alike = from_permutations("corners", moves, [[0, 3]], 1, by_piece=True)
    assert len({*plain.pieces}) == 7
    assert len({*alike.pieces}) == 6
    assert puzzle_of(alike).size == 3_674_160 // 2


def test_small_file_and_its_texts(tmp_path: Path) -> None:
    path = tmp_path / "Small.tws"
    path.write_text(TWS)
    definition = read_definition(str(path))
    assert definition.usual == ["A", "B", "AB"]
    puzzle = puzzle_of(definition)
    assert by_layers(puzzle) == plainly(definition)
    assert puzzle.render(puzzle.start) == "1 2 3 3/1 2 2"
    assert puzzle.parse("AB") == puzzle.parse("A B'") == puzzle.parse(puzzle.render(puzzle.parse("AB")))
    key = puzzle.parse("A")
    assert puzzle.describe_move(puzzle.start, key) == "A"
    matching = puzzle.match("1 ? ? ?/? ? ?")
    assert matching is not None
    assert matching(puzzle.keys([puzzle.start, key])).tolist() == [
        puzzle.render(each).startswith("1 ") for each in (puzzle.start, key)
    ]
    spec = with_own_file(PuzzleSpec(str(path), {"moves": "B"}))
    assert (spec.name, spec.build().most_successors) == ("Small.tws", len(puzzle_of(definition, moves="B")._moves))
    assert PuzzleSpec.from_dict(spec.as_dict()).build().most_successors == spec.build().most_successors


@pytest.mark.ci_slow
@pytest.mark.parametrize("path", [FOLDER / "skewb.tws", FOLDER / "pyraminx.json"], ids=lambda path: path.name)
def test_a_definition_keeps_the_promises_of_a_puzzle(path: Path) -> None:
    def build(options: Mapping[str, str], start: str | None) -> Defined:
        found = with_own_file(PuzzleSpec(str(path), dict(options), start)).build()
        assert isinstance(found, Defined)
        return found

    assert refusals(explored(Case(build=build, options={}))) == {}


WRONG = {
    "words.tws": (TWS.replace("MoveSequence", "Sequence"), 'line 25: "Sequence AB A B\'"; expected Name, Set'),
    "short.tws": (
        TWS.replace("2 3 1 4", "2 3 1"),
        "line 15: CORNER has 3 numbers in its row of places, expected 4",
    ),
    "large.tws": (TWS.replace("2 3 1 4", "2 3 1 5"), "line 15: 5 in the places of CORNER is not 1 to 4"),
    "twice.tws": (
        TWS.replace("2 3 1 4", "2 3 1 1"),
        "line 15: move A does not permute the places of CORNER: each must",
    ),
    "twist.tws": (TWS.replace("1 1 1 0", "1 1 3 0"), "line 16: 3 in the orientations of CORNER is not 0 to 2"),
    "letter.tws": (TWS.replace("2 3 1 4", "2 x 1 4"), "line 15: 'x' is not a number"),
    "end.tws": (TWS[: TWS.rindex("End")], "line 23: the file ends before End"),
    "set.tws": (
        TWS.replace("CENTER\n2 3 1", "CENTRE\n2 3 1"),
        "line 22: 'CENTRE' is not a set",
    ),
    "derived.tws": (TWS.replace("A B'\n", "A C'\n"), 'line 25: turn 2, "C\'", is not a turn'),
    "empty.tws": ("", "has 0 sets and 0 moves"),
    "no.json": ("{", "line 1: the end of the file is not a text"),
    "part.json": ('{"name": "x"}', "line 1: orbits is missing"),
    "cycle.gap": ("M_U:=(1,2,3);\n\nM_R:=(1,2,1);", "line 3: point 1 is in these cycles twice"),
    "word.gap": ("M_U:=(1,2,3);\nM_R:=twice(M_U);", "line 2: 'twice'(...) is not read"),
    "none.gap": ("# nothing\n", "has no permutations"),
    "ip.gap": ("M_U:=(1,2,3);\nip:=[[1,9]];", "line 2: ip is not a list of lists of points from 1 to 3"),
    "name.json": (
        '{"name": "x", "orbits": [{"orbitName": "A", "numPieces": 2, "numOrientations": 1}], "defaultPattern": '
        '{"A": {"pieces": [0, 1], "orientation": [0, 0]}}, "moves": {"": {"A": {"permutation": [1, 0], '
        '"orientationDelta": [0, 0]}}}, "derivedMoves": {"b": "a"}}',
        "line 1: an empty text cannot be the name of a move",
    ),
    "huge.tws": ("Set A 3000 1\n", "line 1: with A there are more than 2500 places"),
    "digits.gap": (
        f"M_U:=(1,{'9' * 5000});",
        "line 1: '999999999999999999999999999999...' is not a number of",
    ),
    "still.gap": ("M_U:=();", "has 0 moves that change anything"),
    "twice.set.tws": (TWS.replace("Set CENTER 3 1", "Set CORNER 3 1"), "line 5: there is a set 'CORNER' already"),
    "twice.move.tws": (TWS.replace("Move B", "Move A"), "line 18: there is a move 'A' already, in line 13"),
    "multiple.tws": (
        TWS.replace("Move B", "Move A'").replace("A B'", "A"),
        "A' is a move of its own, and not A 2 times",
    ),
    "illegal.tws": (TWS + "Illegal CORNER 3 3\n", "the solved position has piece 3, which is illegal"),
    "illegal.place.tws": (TWS + "Illegal CORNER 5 3\n", "line 26: CORNER has no place 5; expected 1 to 4"),
    "block.def": (TWS + "Block\nCORNER\n1 2\nEnd\n", "line 26: Block, pieces that are joined, is not supported"),
    "left.tws": (TWS.replace("2 3 1 4", "2 3 1 4\n0 0 0 0\n0 0 0 0"), "line 17: '0 0 0 0' is a row too many"),
    "alike.tws": (TWS.replace("0 0 0 0\nCENTER\n1 2 2", "0 0 ? 0\nCENTER\n1 2 2"), "line 9: CORNER: identical pieces"),
    "self.tws": (TWS + "MoveSequence X Y A\nMoveSequence Y X\n", "line 26: X is derived from itself"),
    "long.tws": (TWS + f"MoveSequence X {'A ' * 400_000}\n", "line 25: 800,003 signs for 15 stickers are too many"),
    "two.gap": ("a:=(1,2,3);b:=(1,2);\nG:=Group(a);\nH:=Group([a,b]);", "line 3: there are 2 groups: name"),
    "lists.gap": ("a:=(1,2,3);b:=(1,2);\nG:=[a];\nH:=[a,b];", "there are 2 lists of permutations, G, H: name"),
    "again.gap": ("a:=(1,2,3);\na:=(1,2);", "line 2: 'a' is assigned already, in line 1"),
    "range.gap": ("a:=(1,2,3);\nip:=[[1,2,3..4]];", "line 2: a range is not [first..last] or [first, second..last]"),
    "range.step.gap": ("a:=(1,2,3);\nb:=PermList([1,3..4]);", "line 2: a range from 1 does not get to 4"),
    "range.end.gap": ("a:=(1,2,3);\nip:=[[1..9999999]];", "is not a number of at most 4 digits"),
    "gen.gap": ("a:=(1,2,3);\nGen:=[];", "has no permutations"),
    "solved.tws": (TWS + "Solved\nCENTER\n1 2 3\nEnd\n", "line 28: CENTER has a solved position already"),
    "illegal.zero.tws": (TWS + "Illegal CORNER 3 0\n", "line 26: CORNER has no piece 0"),
    "list.gap": ("a:=(1,2,3);\nGen:=[a,b];", "line 2: 'b' has no value yet"),
    "member.json": (
        '{"orbits": {"A": {"numPieces": 2, "orientations": 1}}, "moves": {"a": null},\n"b": 1}',
        "line 1: 'b' is not known there",
    ),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.ci_slow if name == "long.tws" else ()) for name in WRONG]
)
def test_a_wrong_file_is_refused_with_its_place(name: str, tmp_path: Path) -> None:
    text, expected = WRONG[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(PuzzleError) as error:
        with_own_file(PuzzleSpec(str(tmp_path / name))).build()
    assert expected in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 2 3/1 2 2", "CORNER '1 2 3' has 3 pieces, expected 4"),
        ("1 2 3 3", "expected 2 rows"),
        ("1 2 2 3/1 2 2", "place 3: there is only 1 of piece 2"),
        ("1 2 9 3/1 2 2", "place 3: there is no piece 9"),
        ("1 2+3 3 3/1 2 2", "'2+3' is turned 0 to 2 times"),
        ("1 2+1 3 3/1 2 2", "cannot be reached"),
        ("Z", "is not a turn"),
        ("A//B", "turn 2, '//B', is not a turn"),
        ("", "expected 2 rows"),
    ],
)
def test_a_wrong_text_is_refused(text: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "small.tws").write_text(TWS.replace("1 1 1 0", "1 2 0 0"))
    puzzle = puzzle_of(read_definition(str(tmp_path / "small.tws")))
    with pytest.raises(ConfigurationError, match=re.escape(expected)):
        puzzle.parse(text)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("ip:=[[1..4],[5,6,7,8]];", [0, 0, 0, 0, 1, 1, 1, 1]),
        ("ip:=[[1,3..7],[8,6..2]];", [0, 1, 0, 1, 0, 1, 0, 1]),
        ("ip:=[[7..8],[6..6],[3..2]];", [0, 1, 2, 3, 4, 5, 6, 6]),
    ],
)
def test_ranges_of_gap_are_all_their_numbers(text: str, pieces: list[int], tmp_path: Path) -> None:
    (tmp_path / "a.gap").write_text(f"U:=(1,2,3,4);R:=(4,5,6,7,8);Gen:=[U,R];{text}")
    puzzle = puzzle_of(read_definition(str(tmp_path / "a.gap")), pieces="identical")
    # U is odd, so all orders are reached.
    assert puzzle.size == math.factorial(8) // math.prod(math.factorial(pieces.count(piece)) for piece in {*pieces})


def test_what_follows_quit_is_not_read_and_a_product_takes_points_as_in_gap(tmp_path: Path) -> None:
    (tmp_path / "a.gap").write_text("a:=(1,2,3,4,5); b:=(1,2); c:=a*b; Gen:=[a,b,c];\nquit;\nd:=(6,7); %")
    puzzle = puzzle_of(read_definition(str(tmp_path / "a.gap")))
    assert puzzle.size == math.factorial(5)
    assert puzzle.parse("c") == puzzle.parse("b a") != puzzle.parse("a b")
    assert puzzle.parse("b // a") == puzzle.parse("b")


def test_places_that_no_move_changes_hold_what_they_held() -> None:
    puzzle = puzzle_of(read_definition(str(FOLDER / "corners.json")), moves="U")
    assert puzzle.size == 4
    with pytest.raises(ConfigurationError, match="no move changes place"):
        puzzle.parse("0 1 2 3 4 5 7 6")
    matching = puzzle.match("? ? ? ? ? ? ? ?")
    assert matching is not None
    assert matching(puzzle.keys([0])).all()
    with pytest.raises(ConfigurationError):
        puzzle.parse(puzzle.render(0).replace("7", "7+1"))


def test_moves_of_a_high_order_have_their_inverse() -> None:
    """13 * 16 * 17 * 7: too many multiples for moves, but not for an inverse."""
    row, begin = list[int](), 0
    for length in (7, 13, 16, 17):
        row += [*range(begin + 1, begin + length), begin]
        begin += length
    definition = from_permutations("order", {"M": row}, [], 0)
    assert list(definition.multiples(["M"], "given")) == ["M"]
    both = definition.multiples(["M"], "quarter")
    assert list(both) == ["M", "M'"]
    assert definition.after(both["M"], both["M'"]) == definition.unmoved
    with pytest.raises(PuzzleError, match="M has 24,751 multiples; use metric=quarter"):
        definition.multiples(["M"], "half")


@pytest.mark.ci_slow
def test_turns_of_the_whole_puzzle_are_symmetries(tmp_path: Path) -> None:
    """A definition declares them as moves x, y, z; each is checked, on the moves and on keys."""
    path = str(FOLDER / "corners.json")
    with explore(path, layers=4, data=tmp_path) as run:
        sizes = run.layer_sizes
        layer = run.store.layer(3)
    with explore(path, layers=4, merge_mirrors=True, data=tmp_path) as run:
        assert [record.represented for record in run.store.layer_records()] == sizes == [1, 18, 243, 2_874, 28_000]
        assert len(run.layer_sizes) == 5
        assert sum(run.layer_sizes) < sum(sizes) / 20
        classes = run.store.layer(3)
    puzzle = puzzle_of(read_definition(path))
    images = puzzle.mirrors()
    assert len(images) == 23
    assert np.array_equal(np.unique(np.concatenate([classes, *(image(classes) for image in images)])), layer)
    for image in images:
        check_map(puzzle, image, ints(layer[::50]))
    # Another name of a move does no harm; a sequence of moves is a move, which these turns do not keep.
    text = as_tws(from_permutations("corners", with_rotations("URFDLB"), [], 1))
    for line, count in [("MoveAlias again U", 23), ("MoveSequence again U R F", 0)]:
        (tmp_path / "a.tws").write_text(f"{text}{line}\n")
        assert len(puzzle_of(read_definition(str(tmp_path / "a.tws"))).mirrors()) == count
    # With fewer moves, only those turns that keep them.
    assert len(puzzle_of(read_definition(path), moves="U,D").mirrors()) == 7
    assert puzzle_of(read_definition(str(FOLDER / "corners.gap"))).mirrors() == []


@pytest.mark.ci_slow
def test_permutations_from_python(tmp_path: Path) -> None:
    with explore_permutations(shifts(6, "LRX"), data=tmp_path) as run:
        assert run.layer_sizes == [1, 3, 6, 11, 20, 35, 55, 81, 109, 128, 126, 95, 40, 6, 3, 1]
        assert len(run.path("1 0 2 3 4 5").moves) == 1
        run.export(tmp_path / "certificate.json")
    assert verify_file(tmp_path / "certificate.json", True, Resources(), Control(), SilentObserver()).ok
    zeros, ones = [0, 1, 2, 3], [4, 5, 6, 7]
    with explore_permutations(shifts(8, "LRX"), identical=[zeros, ones], name="coset", data=tmp_path) as run:
        # CayleyPy's table of cosets, from 00001111.
        assert run.layer_sizes == [1, 2, 3, 4, 6, 8, 7, 9, 10, 9, 8, 2, 1]
    with pytest.raises(PuzzleError, match="X is not a permutation of 0 to 2"):
        explore_permutations({"L": [1, 2, 0], "X": [1, 0, 0]}, data=tmp_path)
    nothing: list[dict[str, list[int]]] = [{}, {"A": []}]
    for wrong in nothing:
        with pytest.raises(PuzzleError, match="no permutations are given"):
            explore_permutations(wrong, data=tmp_path)
    odd: Any = [({"A": [1.0, 0.0]}, []), ({"A": [1, 0]}, [0, 1]), ({"A": [1, 0]}, ["01"]), ({"A": 1}, [])]
    for moves, identical in odd:
        with pytest.raises(PuzzleError, match="expected permutations as lists of whole numbers"):
            explore_permutations(moves, identical=identical, data=tmp_path)
    with pytest.raises(PuzzleError, match="place 1 is in two lists"):
        explore_permutations(shifts(3, "L"), identical=[[0, 1], [1, 2]], data=tmp_path)


#: Layers of binary strings by shifts and an exchange, from a string: CayleyPy's `lrx_coset_growth.csv`.
COSETS = json.loads((Path(__file__).parents[1] / "support" / "cosets.json").read_text(encoding="utf-8"))


def test_generators_in_cycles_positions_in_lists_and_moves_by_name(tmp_path: Path) -> None:
    """Against permutations that Python composes itself."""
    cycles = explore_permutations({1: "(0 1)", 2: "(0 1 2 3)()"}, start=[2, 1, 0, 3], data=tmp_path)
    lists = explore_permutations([[1, 0, 2, 3], [1, 2, 3, 0]], start="2 1 0 3", data=tmp_path)
    with cycles as one, lists as other:
        assert one.layer_sizes == other.layer_sizes and one.row() == [2, 1, 0, 3]
        for number, rows in enumerate(one.layer(depth) for depth in range(one.depth + 1)):
            assert all(one.distance(one.row(key)) == number for key in map(int, rows))
        images = {"1": [1, 0, 2, 3], "2": [1, 2, 3, 0]}
        for source, target, found in one.to_networkx(moves=True).edges(data=True):
            before, after = one.row(source), one.row(target)
            assert [before[place] for place in images[found["move"]]] == after
        assert {found["move"] for *_, found in other.to_networkx(moves=True).edges(data=True)} == {"g1", "g2"}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ([1, 2, 3], "of 1 to 3; places begin at 0"),
        ("(0 1", "is no product of cycles"),
        ("(0 1)(1 2)", "1 is twice"),
        ("(0 100000)", "beyond the limit"),
    ],
)
def test_wrong_generators(wrong: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(PuzzleError, match=re.escape(said)):
        explore_permutations({"a": wrong}, data=tmp_path)


def test_two_generators_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PuzzleError, match="two permutations have the same name"):
        explore_permutations({1: [1, 0], "1": [0, 1]}, data=tmp_path)


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    "row", [COSETS[0], *(pytest.param(row, marks=pytest.mark.slow) for row in COSETS[1:])], ids=lambda row: row["start"]
)
def test_cosets_have_the_layers_that_others_publish(row: dict[str, Any], tmp_path: Path) -> None:
    places = range(len(row["start"]))
    identical = [[place for place in places if row["start"][place] == sign] for sign in "01"]
    with explore_permutations(
        shifts(len(places), "LRX"), identical=identical, name="coset", keep="depths", data=tmp_path
    ) as run:
        assert run.layer_sizes == row["layers"]
        assert run.puzzle.total == sum(row["layers"])


def test_many_places_of_identical_pieces(tmp_path: Path) -> None:
    """Of 23 places, whose orders would exceed 64 bits if all pieces were distinct."""
    moves = shifts(23, "L")
    identical = [[*range(8)], [*range(8, 16)], [*range(16, 23)]]
    with explore_permutations(moves, identical=identical, name="ring", data=tmp_path) as run:
        assert run.layer_sizes == [1] * 23


def test_a_finite_directed_cayley_graph_has_its_depth_as_diameter(tmp_path: Path) -> None:
    """All eccentricities by plain searches from every configuration."""
    with explore_permutations({"r": [1, 2, 3, 0], "t": [1, 0, 2, 3]}, data=tmp_path) as run:
        assert not run.puzzle.undirected
        found, far, pairs = run.diameter(), set[int](), 0
        for key in run.configurations()[0].tolist():
            depths, frontier = {key: 0}, [key]
            while frontier:
                reached = {new for old in frontier for new in run.puzzle.successors(old)} - depths.keys()
                depths, frontier = depths | dict.fromkeys(reached, 1 + max(depths.values())), sorted(reached)
            far.add(max(depths.values()))
            pairs += sum(depth == run.depth for depth in depths.values())
        assert far == {run.depth} == {found.diameter, found.record.radius}
        assert (found.record.size, found.record.centre, found.record.pair_count) == (24, 24, pairs)
        assert run.distance(run.antipodes()[0]) == run.depth
        assert run.antipodes() == run.texts(run.layer(-1)) and run.antipodes(0) == []
        for refused in (lambda: run.diameter(1), run.eccentricities, lambda: run.layer(-9)):
            with pytest.raises(UnanswerableError):
                refused()
    with explore_permutations({"r": [1, 2, 3, 0]}, layers=2, data=tmp_path) as run, pytest.raises(UnanswerableError):
        run.antipodes()
