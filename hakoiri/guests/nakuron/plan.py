"""The plan and the results of an optimisation, the width of a beam for the remaining time, and the rules of a contest.

The rules are those of the Supercomputing Contest of 2011: points by rank, bonuses, ties.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hakoiri.errors import Hint, PuzzleError
from hakoiri.guests.nakuron.kind import BEAM, PRICE, OptimiseKind

if TYPE_CHECKING:
    from hakoiri.guests.nakuron.scored import Scored

#: The first beam is narrow: it finds a play at once, and measures the time of a layer.
FIRST_WIDTH = 8
#: Moves for each board of a layer: some lead to boards seen before.
_MOVES_PER_BOARD = 1.3
#: The planned part of the time; the rest is a reserve, so that the beam reaches the last layers.
_PLANNED = 0.92


@dataclass(frozen=True)
class OptimisePlan(OptimiseKind):
    """The parameters. `board` is the text of a board without a key; ``None``: play from the start of the puzzle."""

    board: str | None = None

    def check(self, puzzle: "Scored") -> None:
        strategies = (*puzzle.games, BEAM)
        if self.strategy not in strategies:
            raise PuzzleError(f"unknown strategy {self.strategy!r}", Hint("give", "strategy", "|".join(strategies)))
        if self.price < 0:
            raise PuzzleError(f"price {self.price} is below 0", Hint("give", "price", "0.5"))
        given = {"width": self.width is not None, "price": (self.price, self.rising) != (PRICE, False)}
        for name in (name for name, is_given in given.items() if is_given and self.strategy != BEAM):
            text = f"{name} applies to strategy beam only"
            raise PuzzleError(text, Hint("leave out", name), Hint("leave out", "strategy"))
        puzzle.arena(self.board)


@dataclass(frozen=True)
class Best:
    """A play: its score, its moves (`Scored.spell`) and their number, the round that found it, and the seconds."""

    score: int
    sequence: str
    moves: int
    round: int
    seconds: float

    @property
    def rank(self) -> tuple[int, int, int]:
        """The sort key, greater is better: score, then fewer moves, then the earlier round."""
        return self.score, -self.moves, -self.round


NO_PLAY = Best(0, "", 0, 0, 0.0)


@dataclass(frozen=True)
class Round:
    """A finished beam, or some games: its width, result, moves tried and the seconds of all rounds by then.

    For games, the number is that of the first game, and the width is their number. `profile` is the amount taken off
    the reserve after each hundredth of its layers.
    """

    number: int
    width: int
    score: int
    layers: int
    tried: int
    seconds: float
    profile: list[int]

    def layers_left(self, taken: int) -> float:
        """Return the number of layers that it still had to go when it had taken `taken`."""
        passed = sum(each < taken for each in self.profile)
        return max(1.0, self.layers * (1 - passed / max(1, len(self.profile))))


def fitted_width(before: Round, taken: int, seconds: float, rate: float, most: int) -> int:
    """Return the width at which a beam that has taken `taken` ends in `seconds`, at `rate` moves a second."""
    layers = before.layers_left(taken)
    return max(1, min(most, int(_PLANNED * max(0.0, seconds) * rate / (layers * _MOVES_PER_BOARD))))


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
class TeamRank:
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


def ranking(contests: Sequence[Mapping[int, Mapping[str, Entered]]]) -> list[TeamRank]:
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
    found = [TeamRank(team, 1 + ordered.index(orders[team]), *figures) for team, figures in teams.items()]
    return sorted(found, key=lambda team: team.place)
