"""Definitions by chance, written in every format and read back, against a search of 15 lines; and damaged files."""

import json
import re
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from resource import RUSAGE_SELF, getrusage
from typing import Any, NamedTuple

import pytest

from hakoiri import Resources, explore, open_run, verify_run
from hakoiri.coordinator.runs.create import make_run, plan_run
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.runs.verify import verify_directory
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import OverBudgetError, PuzzleError
from hakoiri.keys.layout import ints
from hakoiri.memory import limit_for_children, limited_tables
from hakoiri.puzzles.definitions.chained import numbered
from hakoiri.puzzles.definitions.formats import read_definition
from hakoiri.puzzles.definitions.puzzle import Defined, definition_class
from hakoiri.puzzles.registry import PuzzleSpec, with_own_file
from hakoiri.web.asking import BuiltPuzzles
from hakoiri.worker.doing import Doer
from tests.support.forged import bounded, snapshot
from tests.support.geometry import FOLDER

_Row = list[int]
#: A piece and how often it is turned, ``None`` if that cannot be told.
_Piece = tuple[int, int | None]
_State = tuple[tuple[_Piece, ...], ...]
#: Layers are compared up to so many positions.
_MOST = 400


class Plain(NamedTuple):
    """A puzzle as a file has it: orbits, the solved pieces, moves that say how the piece that *comes* is turned."""

    orbits: list[tuple[str, int, int]]
    solved: _State
    moves: dict[str, list[tuple[_Row, _Row]]]
    sequences: dict[str, list[str]]
    illegal: list[tuple[int, int, int]]


def layers_of(plain: Plain, metric: str) -> list[int]:
    """Return the sizes of the first layers, by searching positions as they are."""

    def made(state: _State, name: str) -> _State:
        for word in plain.sequences.get(name, []):
            state = made(state, word)
        return state if name in plain.sequences else tuple(
            tuple((row[at][0], None if row[at][1] is None else ((row[at][1] or 0) + by) % most)
                  for at, by in zip(source, turn, strict=True))
            for row, (source, turn), (_, _, most) in zip(state, plain.moves[name], plain.orbits, strict=True)
        )  # fmt: skip

    told = tuple(tuple((place, 0) for place in range(count)) for _, count, _ in plain.orbits)
    powers = list[tuple[str, int]]()
    for name in [name for name in [*plain.moves, *plain.sequences] if not name.endswith("v")]:
        order, state = 1, made(told, name)
        while state != told:
            order, state = order + 1, made(state, name)
        powers += [
            (name, times) for times in {"half": range(1, order), "quarter": (1, order - 1), "given": (1,)}[metric]
        ]
    known, layer, sizes = {plain.solved}, [plain.solved], [1]
    while layer and sum(sizes) < _MOST:
        found = set[_State]()
        for state in layer:
            for name, times in powers:
                after = state
                for _ in range(times):
                    after = made(after, name)
                if all(after[orbit][place][0] != piece for orbit, place, piece in plain.illegal):
                    found.add(after)
        layer = sorted(found - known, key=repr)
        known |= found
        sizes += [len(layer)] if layer else []
    return sizes


def by_chance(random: Random) -> Plain:
    orbits = [
        ("ONE", random.randint(2, 4), random.choice([1, 2, 3])),
        ("TWO", random.randint(1, 3), random.choice([1, 2])),
    ]
    solved = list[tuple[_Piece, ...]]()
    for _, count, most in orbits:
        kinds = random.choice([count, 2, 12])
        pieces = [random.randrange(kinds) for _ in range(count)] if kinds != count else list(range(count))
        wild = {piece for piece in pieces if random.random() < 0.2}
        solved.append(tuple((piece, None if piece in wild else random.randrange(most)) for piece in pieces))
    moves = {}
    for name in ["A", "B", "Fv"][: random.randint(2, 3)]:
        moves[name] = [
            (random.sample(range(count), count), [random.randrange(most) for _ in range(count)])
            for _, count, most in orbits
        ]
    words = random.choices([*moves], k=3)
    sequences = {"S": words, "T": ["S", "A"]} if random.random() < 0.5 else {}
    wrong = [(0, place, piece) for place, (solved_piece, _) in enumerate(solved[0]) for piece in range(4)
             if piece != solved_piece]  # fmt: skip
    return Plain(orbits, tuple(solved), moves, sequences, random.sample(wrong, 2) if random.random() < 0.3 else [])


def as_twsearch(plain: Plain, random: Random) -> str:
    """Return the file, its places numbered from 1 as ksolve has them, or from 0."""
    first = random.randrange(2)
    lines = ["# by chance", "Name By chance", *(f"Set {name} {count} {most}" for name, count, most in plain.orbits)]
    lines.append(["StartState", "Solved"][first])
    for (name, _, _), row in zip(plain.orbits, plain.solved, strict=True):
        lines += [name, " ".join(str(piece + first) for piece, _ in row)]
        if random.random() < 0.5 or any(twist != 0 for _, twist in row):
            lines.append(" ".join("?" if twist is None else str(twist) for _, twist in row))
    lines += ["End", ""]
    for name, parts in plain.moves.items():
        first = random.randrange(2)
        lines.append(f"{['MoveTransformation', 'Move'][first]} {name}")
        for (orbit, _, _), (source, twist) in zip(plain.orbits, parts, strict=True):
            # A Move says how the piece from a place is turned.
            turned = [twist[source.index(place)] for place in range(len(source))] if first else twist
            if random.random() < 0.5 or any(twist) or source != sorted(source):
                lines += [orbit, " ".join(str(place + first) for place in source), " ".join(map(str, turned))]
        lines.append("End")
    lines += [f"MoveSequence {name} {' '.join(words)}" for name, words in plain.sequences.items()]
    lines += [f"Illegal {plain.orbits[orbit][0]} {place + 1} {piece + 1}" for orbit, place, piece in plain.illegal]
    return "\n".join(lines)


def as_json(plain: Plain, random: Random) -> str:
    """Return a KPuzzle, in one of the forms that it has had."""
    old = random.random() < 0.5
    orbits: Any = [
        {"orbitName": name, "numPieces": count, "numOrientations": most} for name, count, most in plain.orbits
    ]
    if old:
        orbits = {name: {"numPieces": count, "orientations": most} for name, count, most in plain.orbits}
    solved, names = {}, [name for name, _, _ in plain.orbits]
    for name, row in zip(names, plain.solved, strict=True):
        solved[name] = {"permutation" if old else "pieces": [piece for piece, _ in row],
                        "orientation": [twist or 0 for _, twist in row]}  # fmt: skip
        if any(twist is None for _, twist in row):
            solved[name]["orientationMod"] = [1 if twist is None else 0 for _, twist in row]
    moves: dict[str, Any] = {
        move: {name: {"permutation": source, "orientation" if old else "orientationDelta": twist}
               for name, (source, twist) in zip(names, parts, strict=True)}
        for move, parts in plain.moves.items()
    }  # fmt: skip
    if random.random() < 0.3:
        moves = {move: list(parts.values()) for move, parts in moves.items()}
    found = {"name": "x", "moves": moves, "orbits": orbits, "startPieces" if old else "defaultPattern": solved}
    if plain.sequences:
        found["experimentalDerivedMoves" if old else "derivedMoves"] = {
            name: " ".join(words) for name, words in plain.sequences.items()
        }
    return json.dumps(found, indent=random.choice([None, 1]))


def first_layers(puzzle: Defined) -> list[int]:
    known, layer, sizes = {puzzle.start}, [puzzle.start], [1]
    while layer and sum(sizes) < _MOST:
        found = {*ints(puzzle.expand(puzzle.keys(layer)).successors)}
        layer = sorted(found - known)
        known |= found
        sizes += [len(layer)] if layer else []
    return sizes


def compare(plain: Plain, file: Path, metric: str) -> None:
    try:
        definition = read_definition(str(file))
        puzzle = definition_class(file.name, definition.text())({"metric": metric})
    except PuzzleError as error:
        assert re.search("solved position has piece|changes anything|change anything", str(error)), error
        return
    assert first_layers(puzzle) == layers_of(plain, metric)
    assert all(puzzle.parse(puzzle.render(key)) == key for key in puzzle.successors(puzzle.start))


def some(few: int, many: int) -> list[Any]:
    """Return the seeds of a test by default, and those that are slow."""
    return [range(few), pytest.param(range(few, many), marks=[pytest.mark.slow, pytest.mark.timeout(7200)])]


@pytest.mark.ci_slow
@pytest.mark.parametrize("seeds", some(12, 10_000))
def test_files_by_chance_have_the_layers_of_a_plain_search(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        random = Random(seed)
        plain, metric = by_chance(random), random.choice(["half", "quarter", "given"])
        encoding = random.choice(["utf-8", "utf-16", "latin-1"])
        (tmp_path / "a.def").write_text(as_twsearch(plain, random), encoding=encoding)
        compare(plain, tmp_path / "a.def", metric)
        if not plain.illegal:
            (tmp_path / "a.json").write_text(as_json(plain, random))
            compare(plain, tmp_path / "a.json", metric)


def composed(*rows: _Row) -> _Row:
    """Return the permutation that takes a point by each row in turn."""
    found = list(range(len(rows[0])))
    for row in rows:
        found = [row[point] for point in found]
    return found


def in_cycles(row: _Row) -> str:
    text, met = "", set[int]()
    for first in range(len(row)):
        cycle = [first]
        while row[cycle[-1]] != first:
            cycle.append(row[cycle[-1]])
        if len(cycle) > 1 and first not in met:
            text += f"( {', '.join(str(point + 1) for point in cycle)})"
        met.update(cycle)
    return text or "()"


def gap_by_chance(random: Random) -> tuple[str, list[_Row]]:
    """Return a file, which may name points 1 and 2 identical, and its moves as permutations."""
    count = random.randint(3, 6)
    a, b, c = (random.sample(range(count), count) for _ in "abc")

    def back(row: _Row) -> _Row:
        return sorted(range(count), key=row.__getitem__)

    known = {
        "a": a, "b": b, "b^-1": back(b), "a^2": composed(a, a), "a*b": composed(a, b), "a/b": composed(a, back(b)),
        "(b*a)^-2": back(composed(b, a, b, a)), "a^b": composed(back(b), a, b), in_cycles(c): c,
    }  # fmt: skip
    chosen = random.sample([*known], random.randint(1, 3))
    listed, moves = ", ".join(chosen), [known[each] for each in chosen]
    identical = [[1, 2]] if random.random() < 0.3 else []
    ends = {
        f"Gen := [{listed}];": moves, f"G := Group({listed});;\nSize(G);": moves,
        f"Size( Group([ {listed} ]) );": moves, f"moves := [{listed}];": moves, "": [a, b],
    }  # fmt: skip
    end = random.choice([*ends])
    lines = [
        f"a := {in_cycles(a)};",
        f"b:={in_cycles(b)};",
        end,
        f"ip := {identical};" * bool(identical),
    ]
    text = "\n".join(lines)
    if random.random() < 0.3:
        typed = [line for line in text.replace("\n", "").replace(";;", ";").split(";") if line]
        text = "\n".join(f"gap> {line};\n[ 1, 2 ]" for line in typed)
    return text, ends[end]


@pytest.mark.parametrize("seeds", some(30, 10_000))
def test_permutations_by_chance_have_the_layers_of_a_plain_search(seeds: range, tmp_path: Path) -> None:
    """Identical points alone are compared, which no others follow."""
    for seed in seeds:
        random = Random(seed)
        text, moves = gap_by_chance(random)
        (tmp_path / "a.g").write_text(text)
        kinds = list(range(len(moves[0])))
        try:
            definition = read_definition(str(tmp_path / "a.g"))
            puzzle = definition_class("a.g", definition.text())({"metric": "given"})
        except PuzzleError as error:
            assert re.search("changes anything|change anything|ip is not", str(error)), (seed, error)
            continue
        found = first_layers(puzzle)
        assert found == plain_layers(kinds, moves)[: len(found)], (seed, text)
        if definition.alike and not is_followed(0, moves):
            expected = plain_layers([kinds[0], kinds[0], *kinds[2:]], moves)
            try:
                found = first_layers(
                    definition_class("a.g", definition.text())({"metric": "given", "pieces": "identical"})
                )
            except PuzzleError as error:
                assert (str(error), expected) == ("no move of a changes anything", [1]), (seed, text)
                continue
            assert found == expected[: len(found)], (seed, text)


def is_followed(point: int, moves: list[_Row]) -> bool:
    """Return whether another point is of the same piece: what leaves one of them in its place leaves the other."""
    points = range(len(moves[0]))
    known = found = {tuple(points)}
    while found:
        found = {tuple(state[place] for place in row) for state in found for row in moves} - known
        known = known | found
    return any(
        all((state[point] == point) == (state[other] == other) for state in known) for other in points if other != point
    )


def plain_layers(kinds: list[int], moves: list[_Row]) -> list[int]:
    """Return the sizes of the layers of rows of stickers by a plain search; equal stickers have one number."""
    known, layer, sizes = {tuple(kinds)}, [tuple(kinds)], list[int]()
    while layer:
        sizes.append(len(layer))
        layer = sorted({tuple(state[point] for point in row) for state in layer for row in moves} - known)
        known.update(layer)
    return sizes


#: Centres of which three and three are alike, and three pieces of two stickers.
_CENTRES = """M_A:=(1,2,3,4)(7,9,11)(8,10,12);\nM_B:=(3,4,5,6)(7,8);\nGen:=[M_A,M_B];\nip:=[[1,2,3],[4,5,6],[7]];\n"""


@pytest.mark.ci_slow
def test_pieces_of_a_gap_file_are_distinct_unless_asked_for(tmp_path: Path) -> None:
    moves = [[1, 2, 3, 0, 4, 5, 8, 9, 10, 11, 6, 7], [0, 1, 3, 4, 5, 2, 7, 6, 8, 9, 10, 11]]
    moves += [[row.index(point) for point in range(12)] for row in moves]
    (tmp_path / "centres.gap").write_text(_CENTRES)
    (tmp_path / "single.gap").write_text(_CENTRES.replace("[1,2,3],[4,5,6]", "[1],[4]"))
    rows = {"distinct": list(range(12)), "identical": [0, 0, 0, 1, 1, 1, *range(2, 8)]}
    runs = dict[str, tuple[list[int], str]]()
    for pieces, kinds in rows.items():
        options = {"metric": "quarter", "pieces": pieces}
        with explore(str(tmp_path / "centres.gap"), options, data=tmp_path / "runs") as run:
            assert run.layer_sizes == plain_layers(kinds, moves)
            runs[pieces] = run.layer_sizes, run.store.directory.name
    for pieces, (sizes, name) in runs.items():
        with open_run(name, tmp_path / "runs") as run:
            assert (run.layer_sizes, run.puzzle.parameters["pieces"]) == (sizes, pieces)
        assert verify_run(name, tmp_path / "runs").faults == []
    with explore(str(tmp_path / "centres.gap"), {"metric": "quarter"}, data=tmp_path / "runs") as run:
        assert run.layer_sizes == runs["distinct"][0]
    line = read_definition(str(tmp_path / "centres.gap")).summary()
    assert line.endswith("; pieces that ip says are alike, distinct unless pieces is identical: 4")
    single = read_definition(str(tmp_path / "single.gap"))
    assert "alike" not in single.text()
    with pytest.raises(PuzzleError, match="pieces"):
        definition_class("single.gap", single.text())({"pieces": "identical"})
    forged = read_definition(str(tmp_path / "centres.gap")).text().replace('"alike":[', '"alike":[0,')
    with pytest.raises(PuzzleError, match="numbers, expected"):
        definition_class("centres.gap", forged)({"pieces": "identical"})


@pytest.mark.parametrize(
    ("places", "sets", "words"),
    [
        (2_400, 1, r"up to 10\^[0-9]+ positions, so its keys take [0-9]+,"),
        (128, 4, "so its keys take [0-9],"),
        pytest.param(128, 19, r"up to 10\^4", marks=pytest.mark.ci_slow),
    ],
)
def test_definitions_too_large_for_keys_are_refused_early(places: int, sets: int, words: str, tmp_path: Path) -> None:
    began = time.process_time()
    (tmp_path / "large.tws").write_text(large(places, sets))
    with pytest.raises(PuzzleError, match=words) as error:
        with_own_file(PuzzleSpec(str(tmp_path / "large.tws"), {"metric": "given"})).build()
    assert "\n" not in str(error.value)
    assert time.process_time() < began + 8


def large(places: int, sets: int) -> str:
    """Return a file whose sets have all orders: each has a move of its own besides one that shifts all."""
    shift = " ".join(str(place % places + 1) for place in range(1, places + 1))
    swap, names = " ".join(["2 1", *map(str, range(3, places + 1))]), [f"P{number}" for number in range(sets)]
    text = "".join(f"Set {name} {places} {2 if places < 2_400 else 1}\n" for name in names)
    text += "Move a\n" + "".join(f"{name}\n{shift}\n" for name in names) + "End\n"
    turn = "1 " + "0 " * (places - 1)
    return text + "".join(f"Move b{name}\n{name}\n{swap}\n{turn}\nEnd\n" for name in names)


@contextmanager
def refused() -> Iterator[None]:
    """Expect that the tables of a puzzle take too much, and no more of them than two megabytes to be made."""
    numbered.cache_clear()
    tracemalloc.start()
    with pytest.raises(OverBudgetError, match=r"the table of the twists of P needs at least [\d,]{9} bytes of memory"):
        yield
    assert tracemalloc.get_traced_memory()[1] < 2_500_000
    tracemalloc.stop()


@pytest.mark.ci_slow
def test_tables_count_as_memory_before_they_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a run, in what is asked of it, and in children; all of them take 12 MB."""
    (tmp_path / "flips.tws").write_text(flips(14))
    spec = with_own_file(PuzzleSpec(str(tmp_path / "flips.tws"), {"metric": "given"}))
    run, little = make_run(tmp_path, spec, None, {"layers": 1}, Resources()), Resources(memory=2_000_000)
    with refused():
        plan_run(tmp_path, spec, None, {}, little)
    with refused():
        drive(run, little, Control(), SilentObserver())
    with refused():
        verify_directory(run, False, little, Control(), SilentObserver())
    with refused():
        open_run(run.name, tmp_path, little)
    with refused():
        BuiltPuzzles(2_000_000).of(spec)
    with limited_tables(little.memory):
        told = limit_for_children()
        with refused():
            spec.build()
    assert spec.build().total == 1 << 14
    assert limit_for_children() == {}
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    with refused():
        Doer.built(spec.as_dict())


def flips(places: int) -> str:
    """Return a file whose pieces are identical: one move shifts them, each of the others turns one."""
    row, shift = " ".join(["1"] * places), " ".join(str((place + 1) % places + 1) for place in range(places))
    there, still = " ".join(str(place + 1) for place in range(places)), ["0"] * places
    turns = (" ".join([*still[:place], "1", *still[place + 1 :]]) for place in range(places))
    moves = [f"Move m{number}\nP\n{there}\n{turn}\nEnd\n" for number, turn in enumerate(turns)]
    solved = f"Set P {places} 2\nSolved\nP\n{row}\n{' '.join(still)}\nEnd\n"
    return solved + f"Move a\nP\n{shift}\n{' '.join(still)}\nEnd\n" + "".join(moves)


@pytest.mark.ci_slow
def test_a_chain_takes_no_more_than_it_claims(tmp_path: Path) -> None:
    """Each of 1,024 points has the elements that fix all before it: shared, not copied."""
    (tmp_path / "large.tws").write_text(large(128, 8))
    spec = with_own_file(PuzzleSpec(str(tmp_path / "large.tws"), {"metric": "given"}))
    with bounded("a chain"), limited_tables(100 << 20), pytest.raises(OverBudgetError, match="a chain of stabilisers"):
        spec.build()


@pytest.mark.ci_slow
def test_moves_of_other_places_cost_no_time(tmp_path: Path) -> None:
    """Each of 60 cycles is a coordinate that one move changes."""
    began = time.process_time()
    moves = (f"Move m{number}\nP{number}\n2 3 1\nEnd\n" for number in range(60))
    (tmp_path / "cycles.tws").write_text("".join([*(f"Set P{number} 3 1\n" for number in range(60)), *moves]))
    puzzle = with_own_file(PuzzleSpec(str(tmp_path / "cycles.tws"))).build()
    assert puzzle.most_successors == 120
    assert time.process_time() < began + 8


def turning(places: int, orientations: int, moves: int) -> str:
    """Return a file of moves that shift all places by one and turn each piece."""
    shift, ones = " ".join(str((place + 1) % places + 1) for place in range(places)), " ".join(["1"] * places)
    return f"Set P {places} {orientations}\n" + "".join(f"Move m{k}\nP\n{shift}\n{ones}\nEnd\n" for k in range(moves))


_PAIRS = "".join(f"({2 * pair + 1},{2 * pair + 2})" for pair in range(4990))
_LARGE = {
    "bytes.gap": (";" * 1_000_001, "has more than 1,000,000 bytes"),
    "moves.gap": (
        "".join(f"m{k}:=({2 * k + 1},{2 * k + 2});\n" for k in range(1000)),
        "1,000 permutations of 2,000 points, which is too many",
    ),
    "cycle.gap": (f"a:=({','.join(map(str, range(1, 9999)))});", "finding the pieces takes too long"),
    "product.gap": (f"a:={_PAIRS};\nb:={'a*' * 100_000}a;", "line 2: the products of permutations up to there"),
    "powers.gap": (f"a:={_PAIRS};\n" + "a^9999;\n" * 20_000, "the products of permutations up to there are too long"),
    "still.tws": (
        "Set P 2500 1\n" + "".join(f"Move m{k}\nEnd\n" for k in range(999)),
        "2,500 stickers and 999 moves, which is too many",
    ),
    "multiples.tws": (turning(900, 3, 80), "2,700 stickers and 72,000 moves, which is too many"),
    "order.tws": (turning(2500, 127, 1), "m0 has 317,499 multiples"),
    "chain.tws": (
        turning(9, 3, 1) + "".join(f"MoveSequence s{k} s{k + 1}\n" for k in range(900)) + "MoveSequence s900 m0\n",
        "line 107: s100 is derived through more than 100 moves",
    ),
    "signs.tws": (
        turning(2, 1, 1) + "".join(f"MoveSequence s{k} {'m0 ' * 300}\n" for k in range(900)),
        "signs for 2 stickers are too many",
    ),
    "sets.tws": ("".join(f"Set P{k} 1 1\n" for k in range(60_000)), "line 2501: with P2500 there are more than 2500"),
    "deep.json": ("[" * 900_000, "line 1: more than 20 brackets are open"),
}


@pytest.mark.ci_slow
@pytest.mark.parametrize("name", _LARGE)
def test_what_would_take_minutes_or_gigabytes_is_refused_before(name: str, tmp_path: Path) -> None:
    text, expected = _LARGE[name]
    (tmp_path / name).write_text(text)
    began, before = time.process_time(), getrusage(RUSAGE_SELF).ru_maxrss
    with pytest.raises(PuzzleError, match=expected):
        found = read_definition(str(tmp_path / name))
        found.multiples(found.usual, "half")
    # On a busy machine; 2 s on a quiet one.
    assert time.process_time() - began < 5
    assert getrusage(RUSAGE_SELF).ru_maxrss - before < 300_000


#: What a whole file lacks has no line.
_NO_LINE = re.compile(
    r"sets and \d+ moves; expected|has no permutations|which is too many|solved position has piece|is not utf-16 text"
)
_BASES = {
    "a.tws": """Name X\nSet P 4 2\nSet Q 3 1\nSolved\nP\n1 2 3 3\n0 1 0 0\nEnd
Move A\nP\n2 3 4 1\n0 1 1 0\nQ\n2 3 1\nEnd\nMoveTransformation B\nQ\n1 0 2\nEnd
MoveSequence S A (B A')2 [A, B]\nMoveAlias T A\nIllegal P 1 3\nIgnore\nP\n1 0 0 0\nEnd\n""",
    "a.gap": """# x\nM_a:=(1,2,3)(4,5);\nM_b:=(1,4)^-1*M_a^2;\nGen:=[M_a,M_b/M_a,(2,3)];
ip:=[[1],[4,5]];\nSize(Group(Gen));\n""",
    "a.json": FOLDER.joinpath("pyraminx.json").read_text(),
}


def damaged(text: str, random: Random) -> bytes:
    """Return a file with one to three of its tokens or lines lost, doubled or exchanged for something odd."""
    for _ in range(random.randint(1, 3)):
        parts = re.split(r"(\s+|[^\w\s])", text) if random.random() < 0.6 else re.split(r"(\n)", text)
        at = random.randrange(len(parts))
        odd = [
            "",
            "9" * random.choice([3, 5, 5000]),
            "\0",
            "x" * 100_000,
            "(" * 2000,
            "[" * 2000,
            "\x85",
            "-1",
            "^",
            "*" * 9,
        ]
        odd += [
            "{",
            "1 " * 20_000,
            "a*" * 20_000,
            "(1,2)" * 9,
            "é",
            "End\n",
            ";" * 50_000,
            "\u2028",
            '"',
            "\\",
            "#",
            "?",
        ]
        odd += [parts[at] * 2, random.choice(parts), "999 999", "M_a^999999", "Set Z 2500 127\n", "(A A)999" * 500]
        parts[at] = random.choice(odd)
        text = "".join(parts)
    raw = bytearray(text.encode("utf-16" if random.random() < 0.1 else "utf-8"))
    for _ in range(random.randrange(3)):
        raw[random.randrange(len(raw))] = random.randrange(256)
    return bytes(raw[: random.randrange(len(raw))] if random.random() < 0.1 else raw)


def test_a_word_of_any_length_is_quoted_shortly(tmp_path: Path) -> None:
    (tmp_path / "a.tws").write_text(f"Set P 2 1\nMove A\nP\n2 1\nEnd\nMoveSequence S A{'9' * 5000}\n")
    with pytest.raises(PuzzleError, match=r"^a.tws, line 6: turn 1, 'A9{29}', is repeated more than 999 times$"):
        read_definition(str(tmp_path / "a.tws"))


@pytest.mark.ci_slow
@pytest.mark.parametrize("seeds", some(250, 20_000))
def test_a_damaged_file_is_read_or_refused_in_one_line(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        random = Random(seed)
        name = random.choice([*_BASES])
        file = tmp_path / name
        file.write_bytes(damaged(_BASES[name], random))
        before = snapshot(tmp_path)
        try:
            with bounded(seed):
                found = read_definition(str(file))
                found.multiples(found.usual, "half")
        except PuzzleError as error:
            said = str(error)
            assert "\n" not in said, (seed, said)
            assert len(said) < 400, (seed, said)
            assert re.search(r", line \d+: ", said) or _NO_LINE.search(said) or "multiples" in said, (seed, said)
        assert snapshot(tmp_path) == before, seed
