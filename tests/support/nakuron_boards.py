"""Boards of Nakuron with known optima: two independent programs agree on score, moves and reachable boards."""

from typing import NamedTuple


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
