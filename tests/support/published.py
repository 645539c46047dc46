"""Published answers, or those that two independent programs agree on: one table for all tests.

OEIS numbers are those of the sequence of layer sizes or of depths. Korf and Schultze are "Large-scale parallel
breadth-first search" (AAAI 2005), whose table 1 has the sliding tiles. Where `others have it` there is no one source:
many programs and pages give the same numbers.
"""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
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


def _space(row: dict[str, Any]) -> Space:
    """Return a space of the file, all of whose `layers` may be given instead of figures that follow from them."""
    if layers := tuple(row.pop("layers", ())):
        return Space(begin=layers, end=layers, configurations=sum(layers), depth=len(layers) - 1, **row)
    return Space(**row)


def _tiles(rows: int, columns: int) -> str:
    return f"tiles -o rows={rows} -o columns={columns}"


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

#: Tiles by `metric=multi` are from lightln2/SlidingTilesSolver, the cars are the first row of the database of
#: fogleman/rush. The deals are one of the contest, the hardest of a few minutes of hill climbing, and figure 1 of the
#: Superpuzz paper, for each of which two independent programs agree.
SPACES = (
    *map(_space, json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))),
    *_BLOCKS,
)

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
