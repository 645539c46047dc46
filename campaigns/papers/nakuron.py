"""Supercomputing Contest 2011: Nakuron."""

from collections.abc import Sequence
from typing import Any

from campaigns.atlas.entries import Answer
from campaigns.papers.claims import Claim, Paper, Work, field

_CONTEST = "a contest of other programs on a machine of its own (SX-8R)"
_NAMES = ("cycle", "random", "greedy", "sample", "two-step")


def _means(answers: Sequence[Answer]) -> dict[str, float]:
    """Mean scores over all settings, by strategy."""
    found: dict[str, list[float]] = {}
    for row in answers[0]["rows"]:
        found.setdefault(row["strategy"], []).append(row["mean score"])
    return {name: sum(scores) / len(scores) for name, scores in found.items()}


def _listed(answers: Sequence[Answer]) -> str:
    return ", ".join(f"{name} {score:,.1f}" for name, score in _means(answers).items())


def _best_is_no_game(answers: Sequence[Answer]) -> bool:
    means = _means(answers)
    return max(means[name] for name in _NAMES) < max(means.values())


def _teams(answers: Sequence[Answer]) -> str:
    return ", ".join(f"{team['place']}. {team['team']} {team['points']}" for team in answers[0]["teams"])


def _by_rank(answers: Sequence[Answer]) -> list[Any]:
    """Points of the plays of setting 3, by rank."""
    plays = [play for play in answers[0]["plays"] if play["setting"] == 3]
    return [play["points"] for play in sorted(plays, key=lambda play: play["rank"])]


def _settings(answers: Sequence[Answer]) -> list[float]:
    """Of each setting the balls of a colour, as a part of all cells."""
    return [round(answer["balls"] / 250**2 / 4, 3) for answer in answers[:3]]


def _study(name: str, size: int, *rest: str, short: bool) -> Work:
    return Work(
        name,
        (("study", "nakuron", "--size", f"{size}", *rest),),
        (
            Claim(
                "hints",
                f"cycle and random score little, greedy more, two steps more: boards of {size} x {size}",
                "in this order",
                _listed,
                "means over the three settings; in a single game random and cycle may do better than greedy",
                "answered",
            ),
            Claim(
                "hints",
                f"other values of a board do better: boards of {size} x {size}",
                True,
                _best_is_no_game,
                "a beam with a price of a lost ball",
            ),
        ),
        short,
    )


NAKURON = Paper(
    "nakuron",
    "Supercomputing Contest 2011: Nakuron",
    "A box of balls is tilted, and they drop through holes. Figures 1 to 3 are pictures, which the text does not have.",
    (
        Work(
            "a small board",
            (
                ("run", "nakuron", "--from", "examples/nakuron.txt"),
                ("replay", "nakuron", "examples/nakuron.txt", "012-1 33"),
                ("optimise", "nakuron", "--from", "examples/nakuron.txt", "--strategy", "greedy", "--rounds", "1"),
            ),
            (
                Claim(
                    "hints",
                    "small boards can be searched in full: best score",
                    "not told",
                    field("score"),
                    "all boards of an 8 x 8 board are reached, and the best play is proved",
                    "answered",
                ),
                Claim(
                    "rules", "moves after the stop code do not count: moves of 012-1 33", 3, field("moves", number=1)
                ),
                Claim(
                    "hints",
                    "greedy, the best of three sides: its score",
                    "not told",
                    field("score", number=2),
                    "of a best score of 22",
                    "answered",
                ),
            ),
        ),
        Work(
            "table 1",
            tuple(("generate", "nakuron", "--setting", f"{setting}") for setting in (1, 2, 3)),
            (
                Claim(
                    "table 1",
                    "balls of a colour, a part of the cells",
                    "9/40, 17/80, 1/5",
                    _settings,
                    holds=lambda answers: all(
                        abs(found - wanted) < 0.005
                        for found, wanted in zip(_settings(answers), (0.225, 0.2125, 0.2), strict=True)
                    ),
                ),
            ),
        ),
        Work(
            "a contest",
            (("contest", "nakuron", "--size", "40", "--time", "2s", "--boards", "1"),),
            (
                Claim(
                    "ranking",
                    "11 points for the first, 10 for the next, ...; 2 more for the winner of problem 3",
                    [13, 10, 9, 8, 7, 6],
                    _by_rank,
                ),
                Claim(
                    "ranking", "the winner", "not told", _teams, "strategies as teams, 2, 4 and 6 seconds", "answered"
                ),
            ),
            short=False,
        ),
        _study("strategies, small", 40, "--boards", "2", "--width", "10", short=True),
        _study("strategies", 250, "--boards", "1", "--width", "10", "--prices", "0,0.3,0.5,0.5^", short=False),
        Work(
            "history",
            (),
            (Claim("ranking", "who won, with which scores", "not in this text", why=_CONTEST),),
        ),
    ),
)
