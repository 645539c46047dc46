"""The plan of a hunt, and its pool of deals: independent of the number of workers and of interruptions.

In each *generation* a leg of annealing begins at each deal of the pool (`worker.deals.hunting`). A *cycle* of
generations begins with random deals two sizes smaller, whose positions are counted a hundred times as fast. After a
quarter of the cycle each deal is *grown* by one size, and again after another quarter. Each of these stages is cooled
from hot to cold. Halfway through the last one the best deal of all cycles returns to the pool. Each of the first cycles
has twice as many generations as the one before, and longer legs, so that hunts of any length end well cooled. A hunt
for a given deal begins each cycle with it, without the smaller sizes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from hakoiri.puzzles.capabilities import Dealt
from hakoiri.puzzles.errors import Hint, PuzzleError, require_within
from hakoiri.puzzles.keys.seeds import MOST_SEED
from hakoiri.puzzles.keys.splitmix import random_words
from hakoiri.puzzles.registry import PuzzleSpec, names_of
from hakoiri.worker.deals.hunting import OBJECTIVES, Leg, Objective
from hakoiri.worker.deals.solving import MOST_POSITIONS, DealFigures

#: Deals that are followed at once: on two cores a smaller pool gets farther (measured: docs/how-to/hunt.md).
POOL, _MOST_POOL = 4, 256
#: Generations of the first cycle, a multiple of 4, and of the longest: another cycle is better than a longer one.
FIRST_CYCLE, _LONGEST_CYCLE = 8, 32
#: The size of each stage, in sizes below the requested one; all but the last take a quarter of the cycle each.
_SIZES_LESS = (2, 1, 0)
#: After this many generations of a stage the best deal replaces the worst: more often makes all deals alike.
_SELECT_EVERY = 8
#: Temperatures at the start of a cycle, after a deal has grown, and at the end of each stage, in the score's units.
#: Positions count by logarithm. A grown deal is a good one, which heat would spoil (measured: docs/how-to/hunt.md).
_TEMPERATURES: Mapping[Objective, tuple[float, float, float]] = {
    "positions": (0.08, 0.05, 0.02), "moves": (1.0, 0.6, 0.2), "depth": (0.7, 0.4, 0.15),
}  # fmt: skip
#: From this size on a leg generates `_WORK` positions: a second or two. Each smaller size halves it.
_FULL_SIZE = 7
#: The first cycle with legs of full length; each one before has legs half as long.
_FULL_CYCLE = 3
_WORK: Mapping[Objective, int] = {"positions": 10_000_000, "moves": 4_000_000, "depth": 4_000_000}
CAP = 10_000_000
#: The default duration of a hunt.
SECONDS = 600.0


class Moment(NamedTuple):
    """The position of a generation: its cycle, its size, whether it is grown, and its step of `length` in its stage."""

    cycle: int
    size: int
    grown: bool
    step: int
    length: int


@dataclass(frozen=True)
class LegEnd:
    """The end of a leg: its last deal, the best deal that it met, the scores of both, and its work.

    `seconds` are those of all sessions, `tried` and `generated` the leg's own. The best deal's `figures` are known if
    it is better than all deals of earlier generations.
    """

    leg: int
    deal: str
    score: int
    best: str
    best_score: int
    tried: int
    generated: int
    seconds: float = 0.0
    when: str = ""
    figures: DealFigures | None = None


@dataclass(frozen=True)
class Record:
    """A deal better than those of all legs before, with all its figures, and the time when it was found."""

    score: int
    deal: str
    figures: DealFigures
    leg: int
    seconds: float
    when: str


def records_among(standings: Mapping[int, LegEnd]) -> list[Record]:
    """Return the records in the order of their legs, whatever their order of arrival."""
    records: list[Record] = []
    for number, leg in sorted(standings.items()):
        if leg.figures is not None and (not records or leg.best_score > records[-1].score):
            records.append(Record(leg.best_score, leg.best, leg.figures, number, leg.seconds, leg.when))
    return records


@dataclass(frozen=True)
class HuntPlan:
    """The objective and the limits of the search.

    `pool` deals are followed at once, which keeps as many workers busy. A leg ends when `work` positions are generated;
    deals with more than `cap` positions are skipped.
    """

    objective: Objective = "positions"
    seed: int = 1
    cap: int = CAP
    pool: int = POOL
    work: int = 0

    @classmethod
    def made(cls, puzzle: Dealt, objective: Objective, seed: int, cap: int = CAP, pool: int = POOL) -> "HuntPlan":
        """Return the plan of a new hunt; `PuzzleError` if the objective does not fit the puzzle."""
        require_within("seed", seed, 0, MOST_SEED)
        require_within("cap", cap, 1, MOST_POSITIONS)
        require_within("pool", pool, 1, _MOST_POOL)
        if objective not in OBJECTIVES:
            raise PuzzleError(f"unknown objective {objective!r}", Hint("give", "maximise", "|".join(OBJECTIVES)))
        if objective == "moves" and puzzle.parameters.get("goal") == "":
            raise PuzzleError(
                f"this {puzzle.name} has no goal, so no number of moves to maximise", Hint("give", "goal", "CONF")
            )
        less = max(0, _FULL_SIZE - puzzle.size) if puzzle.size_option else 0
        return cls(objective, seed, cap, pool, _WORK[objective] >> less)


def hunted(spec: PuzzleSpec) -> Dealt:
    """Return the puzzle; `PuzzleError` if it has no deals to hunt for."""
    puzzle = spec.build()
    if not isinstance(puzzle, Dealt) or not puzzle.hunted:
        known = names_of(lambda kind: issubclass(kind, Dealt) and kind.hunted)
        raise PuzzleError(f"{spec.name} does not support hunts; puzzles that do: {known}")
    return puzzle


@dataclass(frozen=True)
class DealPool:
    """The deals that a hunt follows, generation by generation."""

    plan: HuntPlan
    puzzle: Dealt
    #: Cycles begin with this deal, or with the best one once that is better, instead of smaller ones that grow.
    start: str | None = None

    @classmethod
    def of(cls, plan: HuntPlan, puzzle: Dealt, start: str | None) -> "DealPool":
        """Return the pool of a hunt; `ConfigurationError` for an invalid start.

        If deals cannot grow, `start` is not used here: it only names the pieces.
        """
        return cls(plan, puzzle, puzzle.tidy_deal(start) if start and puzzle.grows else None)

    def moment(self, generation: int) -> Moment:
        """Return the cycle and stage of a generation, counted from 0."""
        if self.start is None:
            return moment_of(generation, stages_of(self.puzzle))
        return moment_of(generation, [self.puzzle.size])._replace(grown=True)

    def leg(self, number: int, deals: Sequence[str], above: int) -> Leg:
        """Return leg `number`, counted from 0 over all generations; `deals` are the first deals of its generation."""
        generation, member = divmod(number, self.plan.pool)
        moment = self.moment(generation)
        # In millionths, as in all hunts before.
        heat = round(temperature(self.plan.objective, moment) * 1e6) / 1e6
        work = self.plan.work >> max(0, _FULL_CYCLE - moment.cycle)
        seed = next(random_words((self.plan.seed << 32) + number))
        return Leg(deals[member], self.plan.objective, seed, heat, work, self.plan.cap, above)

    def deals(self, generation: int, before: Sequence[LegEnd], best: LegEnd | None = None) -> list[str]:
        """Return the deals that a generation begins with; `before` are the ends of the previous one, by member.

        `best` is the leg with the best deal of all before this generation.
        """
        puzzle, moment = self.puzzle, self.moment(generation)
        if self.start is not None and not moment.step:
            return [best.best if best else self.start] * self.plan.pool
        if not moment.step and not moment.grown:
            numbers = range(moment.cycle * self.plan.pool, (moment.cycle + 1) * self.plan.pool)
            return [puzzle.sized(moment.size).random_deal(self.plan.seed, number) for number in numbers]
        standings = list(before)
        if not moment.step:
            # The better half twice, each copy grown differently.
            standings.sort(key=lambda standing: -standing.score)
            standings = [standings[member // 2] for member in range(self.plan.pool)]
        elif moment.step % _SELECT_EVERY == 0:
            scores = [standing.score for standing in standings]
            winner = standings[scores.index(max(scores))]
            if best is not None and moment.size == puzzle.size and 2 * moment.step == moment.length:
                winner = replace(best, deal=best.best)
            standings[scores.index(min(scores))] = winner
        deals = [standing.deal for standing in standings]
        if moment.step:
            return deals
        words = (
            next(random_words((self.plan.seed << 32) + ~(generation * self.plan.pool + member)))
            for member in range(self.plan.pool)
        )
        smaller = puzzle.sized(moment.size - 1)
        return [smaller.grown(deal, word) for deal, word in zip(deals, words, strict=True)]


def stages_of(puzzle: Dealt) -> list[int]:
    """Return the sizes of a cycle's stages, the puzzle's own last."""
    least = puzzle.sizes().least if puzzle.grows else puzzle.size
    return [puzzle.size - less for less in _SIZES_LESS if puzzle.size - less >= least]


def moment_of(generation: int, stages: Sequence[int]) -> Moment:
    """Return the position of a generation in cycles with these sizes."""
    cycle, length = 0, FIRST_CYCLE
    while generation >= length:
        generation -= length
        cycle, length = cycle + 1, min(2 * length, _LONGEST_CYCLE)
    *small, full = stages
    for stage in small:
        if generation < length // 4:
            return Moment(cycle, stage, stage > stages[0], generation, length // 4)
        generation -= length // 4
    return Moment(cycle, full, full > stages[0], generation, length - length // 4 * len(small))


def temperature(objective: Objective, moment: Moment) -> float:
    """Return the temperature, which falls geometrically from the first generation of a stage to its last."""
    hot, warm, cold = _TEMPERATURES[objective]
    begun = warm if moment.grown else hot
    return begun * math.exp(math.log(cold / begun) * moment.step / (moment.length - 1))
