"""The rules by which the Supercomputing Contest of 2011 ranks plays: points by rank, bonuses, ties."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: The minutes of each problem, which is a setting of boards, and the bonus of its winner.
MINUTES = {1: 5, 2: 10, 3: 15}
BONUS = {1: 0, 2: 1, 3: 2}
#: The winner of a problem has 11 points, the next 10, and so on down to 1.
MOST_POINTS = 11


@dataclass(frozen=True)
class Entered:
    """A team's play of a problem: its score, its moves, and the seconds after which it was found."""

    score: int
    moves: int
    seconds: float

    @property
    def order(self) -> tuple[int, int, float]:
        """The sort key, less is better: a higher score, then fewer moves, then less time."""
        return -self.score, self.moves, self.seconds


@dataclass(frozen=True)
class Standing:
    """A team's place, its total points, and the figures that break ties."""

    team: str
    place: int
    points: int
    score: int
    moves: int
    seconds: float


def ranks(plays: Mapping[str, Entered]) -> dict[str, int]:
    """Return the rank of each team in one problem, from 1; teams equal in everything share a rank."""
    ordered = sorted(play.order for play in plays.values())
    return {team: 1 + ordered.index(play.order) for team, play in plays.items()}


def points(problem: int, plays: Mapping[str, Entered]) -> dict[str, int]:
    """Return the points of each team in one problem, with the winner's bonus; a team without a play gets none."""
    found = {}
    for team, rank in ranks(plays).items():
        bonus = BONUS[problem] if rank == 1 else 0
        found[team] = max(0, MOST_POINTS + 1 - rank) + bonus if plays[team].moves else 0
    return found


def standings(contests: Sequence[Mapping[int, Mapping[str, Entered]]]) -> list[Standing]:
    """Return the teams by their points in all problems of all contests, best first.

    Ties are broken by the sum of scores, then fewer moves, then less time.
    """
    teams = {team: (0, 0, 0, 0.0) for problems in contests for plays in problems.values() for team in plays}
    for problems in contests:
        for problem, plays in problems.items():
            for team, own in points(problem, plays).items():
                play, (total, score, moves, seconds) = plays[team], teams[team]
                teams[team] = (total + own, score + play.score, moves + play.moves, round(seconds + play.seconds, 3))
    orders = {team: (-total, -score, moves, seconds) for team, (total, score, moves, seconds) in teams.items()}
    ordered = sorted(orders.values())
    found = [Standing(team, 1 + ordered.index(orders[team]), *figures) for team, figures in teams.items()]
    return sorted(found, key=lambda standing: standing.place)
