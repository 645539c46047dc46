"""Known answers for Hakoiri-musume: published, or computed by two independent programs that agree."""

from typing import Any

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
