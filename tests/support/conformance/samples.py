"""The puzzles that the conformance suite tries: options, starts and goals of each, and what is pinned of them."""

import ast
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from hakoiri.puzzles.conformance.pool import Case
from hakoiri.puzzles.nakuron.board import random_board
from hakoiri.puzzles.registry import PuzzleSpec, with_own_file
from hakoiri.puzzles.stars.strategies import COMBINED

_EXAMPLES = Path(__file__).parents[3] / "examples"

_KLOTSKI = "ABBC/ABBC/DEEF/DGHF/I..J"
_DAD = "AABB/AACC/DE../FGHH/FGII"
_L_AND_WALL = "AAB#/ACBB/CC../D.EE"
_HOOKS, _ROOMS = "A.A.B/AAABB/.C..#", "A.#.B/CC#.D"
_SMALL = ("AAB/A.B/.BB", "AB./.#C/DD.", _HOOKS, _ROOMS, "A.BB.C", "A/A/./B/./.", "AB/CC", "AA../A...")
_U64 = "AABBCCDD/AABBCCDD/EEFFGGHH/EEFFGGHH/IJKLMMNN/IJKLOP##/QQR.S.##/TTR....."
# The blanks at the top: moves there change the upper words of a key.
_U128_WITH_WALLS = "Za.b.cd./WW#XX#YY/S.T.U.V./OOPPQQRR/K.L.M.N./FFGH#IJJ/ABBCCDDE/AAB#CDEE"
_U128 = ".Y.Z.a.b/U.V.W.X./QQRRSSTT/MMNNOOPP/EFGHIJKL/EFGHIJKL/AABBCCDD/AABBCCDD"
_CARS, _FREED = "IBBxooIooLDDJAALooJoKEEMFFKooMGGHHHM", "IBBxooIooLDDJooLAAJoKEEMFFKooMGGHHHM"
_GAP = "42 21 13 22 32 26 23/16 43 47 14 24 34 36/46 17 27 31 11 37 12/35 41 44 25 15 33 45"
_MOST_JUMPS = "##.**##/##*.*##/*.**.**/**.**.*/.**.**./##**.##/##.**##"
_FEW_PEGS = "##*..##/##.*.##/..*.*../.**..**/..*...*/##.**##/##*..##"


class Sample(NamedTuple):
    """A puzzle of the registry or of `examples`, as one would name it on the command line."""

    puzzle: str
    options: str = ""
    start: str | None = None
    goal: str | None = None

    @property
    def name(self) -> str:
        """The name of its test."""
        return " ".join(part for part in (self.puzzle, self.options, (self.start or "")[:24]) if part)

    def case(self, merge_mirrors: bool = False) -> Case:
        """The puzzle to be tried."""
        puzzle = str(_EXAMPLES / self.puzzle) if ".py:" in self.puzzle else self.puzzle
        return Case(
            build=lambda options, start: with_own_file(PuzzleSpec(puzzle, options, start, merge_mirrors)).build(),
            options=dict(pair.split("=", 1) for pair in self.options.split()),
            start=self.start,
            goal=self.goal,
            # Its words do not say which of several holes an ace goes to.
            vague=self.puzzle == "superpuzz",
        )


def _suits(order: str) -> str:
    return "/".join(f"{suit}A {suit}2 {suit}3 {suit}4 {suit}5 .." for suit in order)


SAMPLES = (
    Sample("burnt-pancakes", goal="1 2 3 4 5"),
    Sample("burnt-pancakes", "n=1", start="-1", goal="1"),
    Sample("burnt-pancakes", "n=3", start="-3 1 -2", goal="1 2 3"),
    Sample("burnt-pancakes", "n=8"),
    Sample("burnt-pancakes", "n=10", goal="1 2 3 4 5 6 7 8 9 10"),
    Sample("cube2", "metric=half", goal="UUUU/RRRR/FFFF/DDDD/LLLL/BBBB"),
    Sample("cube2", "metric=quarter", goal="UUUU/RRRR/FFFF/DDDD/LLLL/BBBB"),
    Sample("cube2", "goal=UUUU/RR**/FF**/****/LL**/BB**", goal="UUUU/RRRR/FFFF/DDDD/LLLL/BBBB"),
    Sample("cube2", "metric=quarter", start="R U R' F2"),
    Sample("gap", "ranks=3", goal="11 12 13 ../21 22 23 ../31 32 33 ../41 42 43 .."),
    Sample("gap", "ranks=4"),
    Sample("gap", "ranks=7"),
    Sample("gap", "ranks=7", start=_GAP),
    Sample("gap", "ranks=13"),
    Sample("hanoi", "pegs=4 discs=3", goal="./././CBA"),
    Sample("hanoi", "pegs=8 discs=1", goal="./././././././A"),
    Sample("hanoi", "pegs=3 discs=6", goal="././FEDCBA"),
    Sample("hanoi", "pegs=5 discs=4", start="DA/./C/B/."),
    Sample("hanoi", "pegs=3 discs=20"),
    Sample("hanoi", "pegs=4 discs=16"),
    Sample("hanoi", "pegs=4 discs=20"),
    Sample("hanoi", "pegs=5 discs=12"),
    Sample("hanoi", "pegs=7 discs=9"),
    Sample("hanoi", "pegs=8 discs=20"),
    Sample("klotski", "metric=unit", goal="ABCD/ABCD/EE.F/GHHI/JHH."),
    Sample("klotski", "metric=straight", start="ABBC/ABBC/DEEF/DGHF/.I.J"),
    Sample("klotski", "metric=finger"),
    Sample("klotski", "goal=****/****/****/****/.**.", goal="ABBC/ABBC/DEEF/DGHF/.IJ."),
    Sample("magic-star", "points=5"),
    Sample("magic-star", "points=6", goal="1/2 4 12 8/10 6/11 5 3 7/9"),
    Sample("magic-star", "points=6 solutions=keep"),
    Sample("magic-star", "points=6 strategy=prune"),
    Sample("magic-star", "points=6 strategy=generate"),
    Sample("magic-star", "points=8 strategy=generate"),
    *(Sample("magic-star", f"points=6 strategy={ideas}") for ideas in COMBINED),
    Sample("magic-star", "points=12"),
    Sample("magic-star", "points=15"),
    Sample("nakuron"),
    Sample("nakuron", start=random_board(3, 3, 5).text()),
    Sample("nakuron", start=random_board(5, 2, 2).text()),
    Sample("nakuron", start=random_board(9, 1, 3).text()),
    Sample("nakuron", start=random_board(10, 2, 2).text()),
    Sample("pancakes", "n=2", goal="1 2"),
    Sample("pancakes", "n=5", start="3 1 5 2 4"),
    Sample("pancakes", "n=8", goal="1 2 3 4 5 6 7 8"),
    Sample("pancakes", "n=9", start="9 1 8 2 7 3 6 4 5"),
    Sample("pancakes", "n=12"),
    Sample("pancakes", "n=13"),
    Sample("peg-solitaire", "symmetry=on", goal="##...##/##...##/......./...*.../......./##...##/##...##"),
    Sample("peg-solitaire", "symmetry=off", goal="##...##/##...##/......./...*.../......./##...##/##...##"),
    Sample("peg-solitaire", "symmetry=on goal=##?.?##/##???##/???????/???????/???????/##???##/##???##"),
    Sample("peg-solitaire", "symmetry=on", start=_MOST_JUMPS),
    Sample("peg-solitaire", "symmetry=off", start=_MOST_JUMPS),
    Sample("peg-solitaire", "symmetry=off", start=_FEW_PEGS),
    Sample("pyraminx", goal="FFFFFF/LLLLLL/RRRRRR/DDDDDD"),
    Sample("sliding", "metric=unit goal=B@4,2", start=_KLOTSKI, goal="ABCD/ABCD/EE.F/GHHI/JHH."),
    *(Sample("sliding", f"metric={metric}", start=_DAD) for metric in ("unit", "straight", "finger")),
    Sample("sliding", "metric=unit", start=_U64),
    Sample("sliding", "metric=finger", start=_U128_WITH_WALLS),
    Sample("sliding", "metric=straight", start=_U128),
    Sample("sliding", "goal=***#/*A**/AA**/****", start=_L_AND_WALL),
    *(Sample("sliding", f"metric={metric}", start=board) for board in _SMALL for metric in ("straight", "finger")),
    *(Sample("sliding", start=board) for board in _SMALL),
    Sample("sliding", "distinct=all goal=H@3,1", start=_DAD),
    Sample("sliding", "metric=straight distinct=B,F", start=_DAD),
    Sample("sliding", "metric=finger distinct=a,L,Q", start=_U128),
    Sample("sliding", "distinct=all goal=**/**/.5", start="12/34/5.", goal="12/34/.5"),
    *(
        Sample("sliding", f"axis=rows-and-columns metric={metric}", start=_CARS, goal=_FREED)
        for metric in ("unit", "straight", "finger")
    ),
    Sample("sliding", "axis=rows-and-columns", start="AAB/A.B/.BB"),
    Sample("sliding", "axis=A:row,C:row,B:column,D:column goal=***/***/**D", start="ABC/DE./FGH"),
    Sample("sliding", "axis=A:column,F:row distinct=F,G metric=finger", start=_DAD),
    Sample("sliding", "axis=rows-and-columns", start=_U128_WITH_WALLS),
    Sample("superpuzz", "columns=3"),
    Sample("superpuzz", "columns=6 goals=24", goal=_suits("DHSC")),
    Sample("superpuzz", "columns=6 goals=1", goal=_suits("HDSC")),
    Sample("superpuzz", "columns=13"),
    Sample("tiles", "rows=2 columns=4 blank=last", start="1234/56.7", goal="1234/567."),
    Sample("tiles", "rows=1 columns=2"),
    Sample("tiles", "rows=1 columns=5", goal=".1234"),
    Sample("tiles", "rows=16 columns=1"),
    Sample("tiles", "rows=2 columns=2", goal=".1/23"),
    Sample("tiles", "rows=3 columns=2"),
    Sample("tiles", "rows=3 columns=3", start="1.2/345/678", goal=".12/345/678"),
    Sample("tiles", "rows=4 columns=2"),
    Sample("tiles", "rows=3 columns=4"),
    Sample("tiles", "rows=7 columns=2"),
    Sample("tiles", "rows=5 columns=3"),
    Sample("tiles", "rows=4 columns=4", goal=".123/4567/89ab/cdef"),
    Sample("tiles", "rows=2 columns=8"),
    Sample("tiles", "goal=1**/4**/7**", goal="123/456/78."),
    Sample("tiles", "rows=2 columns=5 goal=1234./56789", goal="1234./56789"),
    Sample("tiles", "metric=multi", start="1.2/345/678", goal=".12/345/678"),
    Sample("tiles", "rows=3 columns=4 metric=multi"),
    Sample("tiles", "rows=5 columns=2 metric=multi", goal=".1/23/45/67/89"),
    Sample("tiles", "rows=1 columns=6 metric=multi"),
    Sample("tiles", "rows=4 columns=4 metric=multi"),
    Sample("topspin", "n=8 k=4", goal="1 2 3 4 5 6 7 8"),
    Sample("topspin", "n=4 k=4"),
    Sample("topspin", "n=5 k=2", start="3 1 5 2 4"),
    Sample("topspin", "n=7 k=6"),
    Sample("topspin", "n=9 k=4"),
    Sample("topspin", "n=10 k=9"),
    Sample("topspin", "n=12 k=6"),
    Sample("topspin", "n=13 k=4"),
    Sample("topspin", "n=13 k=12"),
    Sample("left_ends.py:LeftEnds", "aces=2 holes=1"),
    Sample("left_ends.py:LeftEnds", "aces=1 holes=3"),
    Sample("lights_out.py:LightsOut", "n=5", goal="...../...../...../...../....."),
    Sample("lights_out.py:LightsOut", "n=2", start="*./.."),
    Sample("lights_out.py:LightsOut", "n=3 goal=?*?/*.*/?*?", goal=".*./*.*/.*."),
)  # fmt: skip


def examples() -> list[str]:
    """Every puzzle of the examples, as one names it."""
    found = []
    for file in sorted(_EXAMPLES.glob("*.py")):
        classes = (node for node in ast.parse(file.read_text()).body if isinstance(node, ast.ClassDef))
        found += [f"{file.name}:{node.name}" for node in classes if "Puzzle" in map(ast.unparse, node.bases)]
    return found


def samples_of(puzzles: Iterable[str]) -> list[Sample]:
    """The samples of some puzzles: of one that has none its defaults."""
    return [each for name in puzzles for each in [one for one in SAMPLES if one.puzzle == name] or [Sample(name)]]
