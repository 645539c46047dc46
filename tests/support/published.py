"""Published answers, or those that two independent programs agree on: one table for all tests.

OEIS numbers are those of the sequence of layer sizes or of depths. Korf and Schultze are "Large-scale parallel
breadth-first search" (AAAI 2005), whose table 1 has the sliding tiles. Where `others have it` there is no one source:
many programs and pages give the same numbers.
"""

import shlex
from dataclasses import dataclass
from typing import Any, NamedTuple

HAKOIRI: dict[str, Any] = {
    # The whole space.
    "configurations": 65_880,
    "components": 898,
    "moves": 103_390,
    "component sizes, each with how often": {25_955: 2, 248: 4, 201: 4, 181: 4, 118: 4, 2: 36},
    "configurations, mirrors merged": 33_030,
    "components, mirrors merged": 459,
    "most successors by metric": {"unit": 7, "straight": 7, "finger": 10},
    # From the usual start.
    "start": "ABBC/ABBC/DEEF/DGHF/I..J",
    "reachable": 25_955,
    "eccentricity of the start": 167,
    "solution by metric": {"unit": 116, "straight": 90, "finger": 81},
    "layers begin": [1, 4, 10, 13, 18, 16, 19, 20, 22, 32],
    "layers end": [18, 12, 8, 4],
    # Computed by the slow search of tests/coordinator/test_goals.py.
    "hardest": 126,
    "largest window": (2_220, 57),
    # From the usual start, mirrors merged.
    "reachable, mirrors merged": 13_011,
    "largest window, mirrors merged": (1_110, 57),
    "reachable within so many moves, mirrors merged": {116: 12_055, 117: 12_092},
    # Components by size: diameter, radius.
    "diameter and radius by size": {25_955: (190, 114), 248: (72, 36), 201: (63, 32)},
    "largest components: pairs, centre, periphery": (4, 20, 6),
}


KORF = "Korf and Schultze"
WIDELY = "others have it"


@dataclass(frozen=True)
class Space:
    """The results of ``hakoiri run ARGUMENTS``. ``None`` and empty are not published.

    `begin` and `end` are the first and last layer sizes, or all of them. `spills` says that there is a layer whose
    successors do not fit the smallest budget, which holds those of dense keys in bitmaps. Others stay in memory.
    `slow` is whether it takes longer than a second or two. `every_way`: the default suite drives it in every way, not
    by threads alone; one of a family will do.
    """

    arguments: str
    source: str
    begin: tuple[int, ...] = ()
    end: tuple[int, ...] = ()
    configurations: int | None = None
    depth: int | None = None
    goal_depth: int | None = None
    spills: bool = False
    slow: bool = False
    every_way: bool = False

    @property
    def words(self) -> list[str]:
        """The arguments as a list."""
        return shlex.split(self.arguments)


def _whole(arguments: str, source: str, *layers: int, **marks: bool) -> Space:
    """A space all of whose layer sizes are published."""
    return Space(arguments, source, layers, layers, sum(layers), len(layers) - 1, **marks)


def _tiles(rows: int, columns: int) -> str:
    return f"tiles -o rows={rows} -o columns={columns}"


_TILES = (
    _whole(_tiles(2, 2), "by hand", 1, 2, 2, 2, 2, 2, 1),
    _whole(
        _tiles(3, 2), "A090034",
        1, 2, 3, 5, 6, 7, 10, 12, 12, 16, 23, 25, 28, 39, 44, 40, 29, 21, 18, 12, 6, 1,
    ),
    # Any number of tiles in a line is one move: lightln2/SlidingTilesSolver.
    Space(f"{_tiles(3, 4)} -o metric=multi", "A389728", configurations=239_500_800, depth=33, slow=True),
    _whole(
        _tiles(3, 3), "A089473",
        1, 2, 4, 8, 16, 20, 39, 62, 116, 152, 286, 396, 748, 1024, 1893, 2512, 4485, 5638, 9529, 10878, 16993, 17110,
        23952, 20224, 24047, 15578, 14560, 6274, 3910, 760, 221, 2, every_way=True,
    ),
    Space(_tiles(2, 4), KORF, configurations=20_160, depth=36),
    Space(_tiles(2, 5), KORF, configurations=1_814_400, depth=55),
    Space(_tiles(3, 4), KORF, configurations=239_500_800, depth=53, slow=True),
    Space(_tiles(2, 6), KORF, configurations=239_500_800, depth=80, slow=True),
)  # fmt: skip

_PANCAKES = (
    *(
        Space(f"pancakes -o n={n}", "A058986", configurations=size, depth=depth)
        for n, size, depth in ((2, 2, 1), (3, 6, 3), (4, 24, 4), (5, 120, 5), (6, 720, 7), (7, 5_040, 8))
    ),
    _whole("pancakes -o n=8", "A092113", 1, 7, 42, 251, 1191, 4281, 10561, 15011, 8520, 455, every_way=True),
    Space("pancakes -o n=9", "A058986", configurations=362_880, depth=10),
    Space("pancakes -o n=10", "A058986", configurations=3_628_800, depth=11, slow=True),
    Space(
        "pancakes -o n=11", "A058986", configurations=39_916_800, depth=13, slow=True
    ),
    *(
        Space(f"burnt-pancakes -o n={n}", "A078941", configurations=size, depth=depth, slow=n > 6, every_way=n == 5)
        for n, size, depth in (
            (1, 2, 1), (2, 8, 4), (3, 48, 6), (4, 384, 8), (5, 3_840, 10), (6, 46_080, 12), (7, 645_120, 14),
        )
    ),
)  # fmt: skip

_TWISTY = (
    _whole(
        "cube2 -o metric=half", "A079761",
        1, 9, 54, 321, 1847, 9992, 50136, 227536, 870072, 1887748, 623800, 2644,
    ),
    _whole(
        "cube2 -o metric=quarter", WIDELY,
        1, 6, 27, 120, 534, 2256, 8969, 33058, 114149, 360508, 930588, 1350852, 782536, 90280, 276,
        slow=True,
    ),
    _whole(
        "pyraminx", WIDELY, 1, 8, 48, 288, 1728, 9896, 51808, 220111, 480467, 166276, 2457, 32,
    ),
)  # fmt: skip

_HANOI = (
    _whole("hanoi -o pegs=4 -o discs=3", "puzzles.md", 1, 3, 6, 12, 30, 12),
    *(
        Space(
            f"hanoi -o pegs=4 -o discs={discs} --until-goal", "A007664", goal_depth=moves,
            slow=discs > 10, every_way=discs == 9,
        )
        for discs, moves in enumerate((1, 3, 5, 9, 13, 17, 25, 33, 41, 49, 65, 81), start=1)
    ),
)  # fmt: skip

_PEGS = (
    _whole(
        "peg-solitaire -o symmetry=on", "A112737",
        1, 1, 2, 8, 39, 171, 719, 2757, 9751, 31312, 89927, 229614, 517854, 1022224, 1753737, 2598215, 3312423,
        3626632, 3413313, 2765623, 1930324, 1160977, 600372, 265865, 100565, 32250, 8688, 1917, 348, 50, 7, 2,
        spills=True, slow=True,
    ),
)  # fmt: skip

#: The board by itself, and with its goal (the daughter at the bottom centre) in each metric.
_BLOCKS = (
    Space("sliding --from AABB/AACC/DE../FGHH/FGII", "puzzles.md", configurations=1_398, depth=112),
    Space(
        f"sliding --from {HAKOIRI['start']} -o goal=B@4,2", "as klotski", tuple(HAKOIRI["layers begin"]),
        tuple(HAKOIRI["layers end"]), HAKOIRI["reachable"], HAKOIRI["eccentricity of the start"],
        HAKOIRI["solution by metric"]["unit"],
    ),
    *(
        Space(
            f"sliding --from {HAKOIRI['start']} -o goal=B@4,2 -o metric={metric}", "as klotski",
            configurations=HAKOIRI["reachable"], goal_depth=HAKOIRI["solution by metric"][metric], slow=True,
        )
        for metric in ("straight", "finger")
    ),
)  # fmt: skip

#: First row of the database of fogleman/rush: a car moves any number of cells.
_RUSH_HOUR = (
    Space(
        "sliding --from IBBxooIooLDDJAALooJoKEEMFFKooMGGHHHM -o axis=rows-and-columns -o metric=straight",
        "fogleman/rush", configurations=2_332, goal_depth=60, slow=True,
    ),
)  # fmt: skip

TWICE = "two independent programs agree"
#: A deal of the contest, the hardest of a few minutes of hill climbing, and figure 1 of the Superpuzz paper.
_DEALS = (
    Space(
        "gap --from '26 31 13 44 21 24 42/17 45 23 25 41 36 11/46 34 14 12 37 32 47/16 43 27 35 22 33 15'", TWICE,
        configurations=6_785, depth=38, goal_depth=33, every_way=True,
    ),
    Space(
        "gap --from '23 36 42 12 15 26 31/44 41 22 35 25 21 17/34 45 32 13 27 16 47/43 24 33 14 11 46 37'", TWICE,
        configurations=423_672, depth=55, goal_depth=34, slow=True,
    ),
    Space(
        "superpuzz --from 'D2 S2 H4 H3 D6 H5/C2 H2 SA S4 C6 S3/S5 S6 D5 C4 DA H6/HA C5 CA D4 D3 C3'", TWICE,
        configurations=622_473, depth=72, goal_depth=18, slow=True,
    ),
)  # fmt: skip
SPACES = (*_TILES, *_PANCAKES, *_TWISTY, *_HANOI, *_PEGS, *_BLOCKS, *_RUSH_HOUR, *_DEALS)

#: What ``hakoiri diameter`` tells of the components of some of them. Where all configurations are alike the diameter
#: is the depth; A058986, A078941, A079761.
DIAMETERS: dict[str, dict[str, int]] = {
    "sliding --from AABB/AACC/DE../FGHH/FGII": {"diameter": 145, "pair_count": 1, "periphery": 2},
    f"sliding --from {HAKOIRI['start']}": {
        "diameter": HAKOIRI["diameter and radius by size"][HAKOIRI["reachable"]][0],
        "radius": HAKOIRI["diameter and radius by size"][HAKOIRI["reachable"]][1],
        "pair_count": HAKOIRI["largest components: pairs, centre, periphery"][0],
        "centre": HAKOIRI["largest components: pairs, centre, periphery"][1],
        "periphery": HAKOIRI["largest components: pairs, centre, periphery"][2],
    },
    "pancakes -o n=8": {"diameter": 9, "periphery": 40_320},
    "burnt-pancakes -o n=5": {"diameter": 10, "periphery": 3_840},
    "cube2 -o metric=half": {"diameter": 11, "periphery": 3_674_160},
    "pyraminx": {"diameter": 11, "periphery": 933_120},
}
#: Tiles between any two configurations, as searches from every kind of corner, edge and middle find them.
TILES: dict[str, dict[str, int]] = {
    _tiles(3, 3): {"diameter": 31, "radius": 30, "pair_count": 161_280},
    _tiles(2, 4): {"diameter": 36, "radius": 35, "pair_count": 5_040},
    _tiles(2, 5): {"diameter": 55, "radius": 54, "pair_count": 1_088_640},
    _tiles(2, 6): {"diameter": 80, "radius": 79, "pair_count": 79_833_600},
    _tiles(3, 4): {"diameter": 53, "radius": 53, "pair_count": 1_057_795_200},
}


class Known(NamedTuple):
    """A board's text, its best score, the fewest moves for it, how many boards it leads to, and what greedy reaches."""

    text: str
    score: int
    moves: int
    boards: int
    greedy: int


KNOWN = (
    Known(
        "8/42113115/54334551/42354541/14421531/34533453/24343331/45451131/21341533/23233454/54245521/55212521/41553143",
        22, 13, 3_941, 16,
    ),
    Known(
        "8/14313521/35423234/52112355/45252232/34342244/24233252/22221322/54341254/22522152/41145355/13342332/32315252",
        23, 7, 78, 22,
    ),
    Known(
        "8/31523224/51435442/15243144/43214231/43113512/15131531/43525441/23445134/55311453/32451551/33215245/12531322",
        20, 26, 2_565, 14,
    ),
)  # fmt: skip
