"""Known starts, most of them boards of sliding blocks: goals, and fewest moves with the metrics that count them.

Nothing but lists and tests uses `Classic.moves`. ``tests/puzzles/test_classics.py`` computes each of them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

_CARS = {"axis": "rows-and-columns"}
_GARDNER = "M. Gardner, Sixth Book of Mathematical Games, chapter 7"
_STORER = "J. A. Storer, www.cs.brandeis.edu/~storer/JimPuzzles"


class Classic(NamedTuple):
    """A known start: its title, puzzle, text, options (a goal among them), and source.

    `moves` are the fewest moves to the goal by metric, or by ``moves`` where a puzzle has no metrics.
    """

    title: str
    puzzle: str
    start: str
    options: Mapping[str, str]
    moves: Mapping[str, int]
    source: str


def _classic(
    title: str, start: str, goal: str, unit: int, straight: int, finger: int, source: str,
    options: Mapping[str, str] = MappingProxyType({}),
) -> Classic:  # fmt: skip
    moves = {"unit": unit, "straight": straight, "finger": finger}
    return Classic(title, "sliding", start, dict(options) | ({"goal": goal} if goal else {}), moves, source)


_CENTURY = "ABBC/DBBE/DF.E/GF.H/IIJJ"
#: By the name that a user may give instead of a board.
CLASSICS: Mapping[str, Classic] = {
    "ane-rouge": _classic(
        "L'âne rouge, Hakoiri-musume, Huarong Dao, Klotski", "ABBC/ABBC/DEEF/DGHF/I..J", "B@4,2", 116, 90, 81,
        f"{_GARDNER}: 81",
    ),
    "pennant": _classic(
        "Pennant (L. W. Hardy 1909), Dad's Puzzle", "AABB/AACC/DE../FGHH/FGII", "A@4,1", 83, 62, 59, f"{_GARDNER}: 59",
    ),
    "mas-puzzle": _classic(
        "Ma's Puzzle", "AAABB/CCDDB/EFFGG/EEHHH/..I..", "***AA/***BA/***BB/*****/*****", 36, 26, 23,
        f"{_GARDNER}: 23",
    ),
    "century": _classic(
        "Century (J. H. Conway 1975), after its first half step", _CENTURY, "B@4,2", 131, 111, 99,
        f"Winning Ways, volume 2; {_STORER}: 111, 99",
    ),
    "century-and-a-half": _classic(
        "Century and a Half (J. H. Conway), after its first half step", _CENTURY, "IIJJ/GF.H/DF.E/DBBE/ABBC",
        206, 170, 149, f"Winning Ways, volume 2; {_STORER}: 149",
    ),
    "super-century": _classic(
        "Super Century (G. Dogon 2004)", "ABCD/AEFF/GEFF/GHHI/..JJ", "F@4,2", 179, 150, 138, f"{_STORER}: 150, 138",
    ),
    "new-century": _classic(
        "New Century, from Super Century to its half turn", "ABCD/AEFF/GEFF/GHHI/..JJ", "JJ../IHHG/FFEG/FFEA/DCBA",
        307, 254, 230, f"{_STORER}: 230",
    ),
    "quzzle": _classic(
        "Quzzle (J. Lewis)", "AABB/AACD/..CD/EFFG/EHHI", "A@1,3", 115, 93, 84,
        f"{_STORER}: 93, 84",
    ),
    "rush-hour-51": _classic(
        "Rush Hour, the most moves without walls", "GBBoLoGHIoLMGHIAAMCCCKoMooJKDDEEJFFo", "", 81, 51, 51,
        "M. Fogleman, github.com/fogleman/rush: 51", _CARS,
    ),
    "rush-hour-60": _classic(
        "Rush Hour with walls, the most moves", "IBBxooIooLDDJAALooJoKEEMFFKooMGGHHHM", "", 103, 60, 60,
        "M. Fogleman, github.com/fogleman/rush: 60", _CARS,
    ),
    "unit-rush-hour": _classic(
        "Unit Rush Hour of 5 x 5, the most moves", "abcde/fghij/klmn./opqrs/tuvwx", "e@1,1", 199, 199, 199,
        "J. Tromp and R. Cilibrasi, arXiv cs/0502068: 199",
        {"axis": "efijlmqruvw:row,abcdghknopstx:column"},
    ),
    "eight-puzzle": Classic(
        "8-puzzle, one of the two farthest boards", "tiles", "8.6/547/231", {}, {"single": 31, "multi": 20},
        "A. Reinefeld, IJCAI 1993: 31",
    ),
    "pocket-cube": Classic(
        "2x2x2 cube, one of the 108 farthest positions by both metrics", "cube2", "UUFF/UBDR/LRFF/RLDD/BULD/LRBB", {},
        {"half": 11, "quarter": 14}, "J. Scherphuis, www.jaapsch.net/puzzles/cube2.htm: 11, 14",
    ),
    "pyraminx-farthest": Classic(
        "Pyraminx, one of the 32 farthest positions", "pyraminx", "FRFLFR/LFLDLD/RLRDRL/DRDFDF", {}, {"moves": 11},
        "J. Scherphuis, www.jaapsch.net/puzzles/pyraminx.htm: 11",
    ),
    "six-pancakes": Classic(
        "Six pancakes, one of the two hardest stacks", "pancakes", "4 6 2 5 1 3", {"n": "6"}, {"moves": 7},
        "W. H. Gates and C. H. Papadimitriou 1979, OEIS A058986: 7",
    ),
    "seven-burnt-pancakes": Classic(
        "Seven burnt pancakes in order, all burnt sides up", "burnt-pancakes", "-1 -2 -3 -4 -5 -6 -7", {"n": "7"},
        {"moves": 14}, "D. S. Cohen and M. Blum 1995, OEIS A078942: 14",
    ),
    "reves-puzzle": Classic(
        "The Reve's Puzzle: eight discs, four pegs", "hanoi", "HGFEDCBA/././.", {"pegs": "4", "discs": "8"},
        {"moves": 33}, "H. E. Dudeney, The Canterbury Puzzles 1907: 33",
    ),
    "central-game": Classic(
        "Peg solitaire, the central game: all jumps, 18 if those of one peg in a row are one", "peg-solitaire",
        "##***##/##***##/*******/***.***/*******/##***##/##***##", {}, {"moves": 31},
        "J. D. Beasley, The Ins and Outs of Peg Solitaire: 31",
    ),
}  # fmt: skip
