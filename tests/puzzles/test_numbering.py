"""The numberings of definitions against searches of rows of pieces: nothing but positions, and all of them."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest

from hakoiri import census, explore, verify_run
from hakoiri.errors import PuzzleError
from hakoiri.keys.layout import ints
from hakoiri.puzzles.definitions.chain import Chain
from hakoiri.puzzles.definitions.chained import numbered
from hakoiri.puzzles.definitions.definition import Definition, Move, Orbit
from hakoiri.puzzles.definitions.numbering import PositionKeys, Table
from hakoiri.puzzles.definitions.packed import Packed
from hakoiri.puzzles.definitions.puzzle import Defined, definition_class
from hakoiri.puzzles.definitions.stickers import from_permutations
from tests.support.seeds import first_usual, usual

_CASES, _TOGETHER, _MOST = 200, 5, 3_000
_State = tuple[tuple[int, int], ...]


def walked(definition: Definition) -> set[_State]:
    """Return all positions, pairs of a piece and a twist by place; or what is found until there are too many."""
    ends = np.cumsum([orbit.places for orbit in definition.orbits])
    orbits = [int(np.searchsorted(ends, place, side="right")) for place in range(ends[-1])]
    seen = dict(zip(zip(orbits, definition.pieces, strict=True), definition.seen, strict=True))
    layer = [tuple(zip(definition.pieces, definition.twists, strict=True))]
    known = {*layer}
    while layer and len(known) < _MOST:
        after = {
            tuple(
                (state[source][0], (state[source][1] + twist) % seen[orbits[place], state[source][0]])
                for place, (source, twist) in enumerate(zip(*move, strict=True))
            )
            for state in layer
            for move in definition.moves.values()
        }
        layer = [*(after - known)]
        known |= after
    return known


def by_chance(random: Random) -> Definition:
    """Return two or three orbits in which moves do what depends on each other, as quotients of one group do."""
    size = random.choice([3, 4, 4, 5])
    orbits = [Orbit(name, size, random.choice([1, 1, 2, 3])) for name in "ABC"[: random.choice([2, 2, 3])]]
    pairings = [[0, 1, 2, 3], [0, 2, 1, 3], [0, 3, 1, 2]]
    pieces, twists, seen, moves = list[int](), list[int](), list[int](), {}
    for orbit in orbits:
        alike = random.random() < 0.35
        pieces += [random.randrange(2) if alike else place for place in range(orbit.places)]
        most = random.choice([1, orbit.orientations])
        seen += [most] * orbit.places
        twists += [random.randrange(most) for _ in range(orbit.places)]
    for name in "XYZ"[: random.choice([1, 2, 2, 3])]:
        first = random.sample(range(size), size)
        source, twist, by = list[int](), list[int](), random.randrange(3)
        for number, orbit in enumerate(orbits):
            row = first
            if number and random.random() < 0.5:
                row = random.sample(range(size), size)
            elif number and size == 4:
                # By what the first orbit's move does to the three pairs of pairs.
                images = [
                    sorted([sorted([first[a], first[b]]), sorted([first[c], first[d]])]) for a, b, c, d in pairings
                ]
                row = [[[sorted(p[:2]), sorted(p[2:])] for p in pairings].index(image) for image in images] + [3]
            source += [size * number + place for place in row]
            twist += (
                [by % orbit.orientations] * size
                if random.random() < 0.5
                else [random.randrange(orbit.orientations) for _ in row]
            )
        moves[name] = (source, twist)
    return Definition(
        name="random", orbits=orbits, pieces=pieces, twists=twists, seen=seen, moves=moves, usual=list(moves)
    )


def rows_of(states: Sequence[_State]) -> tuple[Table, Table]:
    made = np.array(states, dtype=np.int64)
    return made[:, :, 0], made[:, :, 1]


def check(found: PositionKeys, definition: Definition, positions: list[_State], complete: bool) -> None:
    """Raise unless keys and positions belong to each other one to one, also after each move."""
    keys = found.pack(*rows_of(positions))
    assert len({*ints(keys)}) == len(positions)
    assert found.are_keys(keys).all()
    for row, expected in zip(found.unpack(keys), rows_of(positions), strict=True):
        assert np.array_equal(row, expected)
    if complete and found.numbers is not None:
        assert found.numbers == len(positions)
        assert {*ints(keys)} == {*range(len(positions))}
    if complete and found.total is not None:
        assert found.total == len(positions)
    some = keys[:30]
    pieces, twists = found.unpack(some)
    after = found.expand(some)
    most = np.array(definition.seen)
    for number, (source, twist) in enumerate(definition.moves.values()):
        there = found.unpack(after[number :: len(definition.moves)])
        assert np.array_equal(there[0], pieces[:, source])
        assert np.array_equal(there[1], (twists[:, source] + np.array(twist)) % most)
    matching = found.match(
        *([None if place % 2 else row[place] for place in range(len(row))] for row in zip(*positions[-1], strict=True))
    )
    assert matching is not None
    assert matching(keys).tolist() == [
        all(place % 2 or state[place] == positions[-1][place] for place in range(len(state))) for state in positions
    ]


@usual(2, "seed", first_usual(8, *range(0, _CASES, _TOGETHER)))
def test_numbers_are_the_positions_and_no_others(seed: int) -> None:
    for each in range(seed, seed + _TOGETHER):
        definition = by_chance(Random(each)).checked()
        moves = tuple(Move(*map(tuple, move)) for move in definition.moves.values())
        positions = sorted(walked(definition))
        complete = len(positions) < _MOST
        try:
            found = numbered(definition.text(), moves)
        except PuzzleError as error:
            assert "changes anything" in str(error)
            assert len(positions) == 1
            continue
        # What has gaps and over two million positions is not numbered.
        assert found.numbers is not None or not complete
        check(found, definition, positions, complete)
        check(Packed(definition, moves), definition, positions, complete)


PYRAMORPHIX = """Name P
Set CORNER 4 1
Set CENTER 4 1
Move FD
CORNER
1 2 4 3
CENTER
2 1 3 4
End
Move LR
CORNER
2 1 3 4
CENTER
1 2 4 3
End
Move FL
CORNER
3 2 1 4
CENTER
3 2 1 4
End
Move DL
CORNER
1 3 2 4
CENTER
1 3 2 4
End
"""


def test_no_start_by_pattern_is_out_of_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two groups of four, of which one tells what the other does to the three pairs of pairs."""
    (tmp_path / "pyramorphix.tws").write_text(PYRAMORPHIX)
    path = str(tmp_path / "pyramorphix.tws")
    with explore(path, data=tmp_path) as run:
        assert (run.puzzle.total, sum(run.layer_sizes)) == (96, 96)
        name = run.store.directory.name
        assert isinstance(run.puzzle, Defined)
        numbering = run.puzzle._numbering
    report = verify_run(name, tmp_path, full=True)
    assert (report.faults, report.checked["configurations in all, as many as the puzzle has"]) == ([], 96)
    monkeypatch.setattr(numbering, "total", 97)
    assert verify_run(name, tmp_path).faults == ["the run has 96 configurations in all, but the puzzle 97"]
    monkeypatch.undo()
    with explore(path, starts=["1 2 3 4/? ? ? ?"], data=tmp_path) as run:
        assert run.layer_sizes[0] == 4
        assert sum(run.layer_sizes) == 96
    with census(path, data=tmp_path) as run:
        assert run.store.state.figures["configurations"] == 96


@pytest.mark.parametrize(("name", "order"), [("M11", 7_920), ("M12", 95_040), ("M24", 244_823_040)])
def test_the_order_of_a_group(name: str, order: int) -> None:
    """The groups of Mathieu, as published."""
    cycles = {
        "M11": ["(1,2,3,4,5,6,7,8,9,10,11)", "(3,7,11,8)(4,10,5,6)"],
        "M12": ["(1,2,3,4,5,6,7,8,9,10,11)", "(3,7,11,8)(4,10,5,6)", "(1,12)(2,11)(3,6)(4,8)(5,9)(7,10)"],
        "M24": [
            "(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23)",
            "(3,17,10,7,9)(4,13,14,19,5)(8,18,11,12,23)(15,20,22,21,16)",
            "(1,24)(2,23)(3,12)(4,16)(5,18)(6,10)(7,20)(8,14)(9,21)(11,17)(13,22)(15,19)",
        ],
    }[name]
    degree, moves = int(name[1:]), {}
    for number, text in enumerate(cycles):
        row = list(range(degree))
        for cycle in text.strip("()").split(")("):
            points = [int(point) - 1 for point in cycle.split(",")]
            for here, there in pairwise([*points, points[0]]):
                row[here] = there
        moves[f"m{number}"] = row
    chain = Chain([*moves.values()], range(degree))
    assert (chain.order, chain.complete()) == (order, True)
    puzzle = definition_class(name, from_permutations(name, moves, [], 1).text())({"metric": "quarter"})
    assert puzzle.total == puzzle.numbers == order
    random, key = Random(1), puzzle.start
    for _ in range(20):
        assert ints(puzzle.expand(puzzle.keys([key])).successors) == puzzle.successors(key)
        assert puzzle.parse(puzzle.render(key)) == key
        key = random.choice(puzzle.successors(key))


def test_packed_keys_of_more_places_than_a_word_has_bits() -> None:
    ring = [*range(1, 100), 0]
    other = [*ring[:40], 70, *range(42, 71), 41, *ring[71:]]
    moves = {"L": ring, "X": [1, 0, *range(2, 98), 99, 98], "Y": sorted(range(100), key=lambda place: other[place])}
    definition = from_permutations("ring", moves, [[*range(10, 40), *range(61, 100)], [*range(5, 10)]], 0).checked()
    given = tuple(Move(*map(tuple, definition.moves[name])) for name in moves)
    packed, random = Packed(definition, given), Random(2)
    pieces, twists = np.array([definition.pieces]), np.array([definition.twists])
    for _ in range(60):
        keys = packed.pack(pieces, twists)
        assert packed.are_keys(keys).all()
        assert np.array_equal(packed.unpack(keys)[0], pieces)
        after = packed.expand(keys)
        for number, move in enumerate(given):
            assert np.array_equal(packed.unpack(after[number : number + 1])[0], pieces[:, move.source])
        pieces = pieces[:, random.choice(given).source]
