"""Optimisations: good plays of a scored board that is too large to be exhausted, within the given time.

The table ``best`` has a row for each round, ``round`` one for each finished round: a beam, or some games. The beam in
progress is among the run's arrays. So the best play so far is always on disk.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.session.check import Check
from hakoiri.coordinator.session.job import Request, Table
from hakoiri.coordinator.session.resources import Budget
from hakoiri.coordinator.session.session import Session
from hakoiri.errors import DamagedError, Hint, OverBudgetError, TaskError, counted
from hakoiri.guests.nakuron import plan as plans
from hakoiri.guests.nakuron.beam import Beam, most_width
from hakoiri.guests.nakuron.kind import BEAM, OptimiseKind
from hakoiri.guests.nakuron.moving import GamesRequest, PlayedGame
from hakoiri.guests.nakuron.plan import OptimisePlan
from hakoiri.guests.nakuron.scored import Scored
from hakoiri.guests.study import Study, last_rows
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.run.answers import Play
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import Figures, Progress
from hakoiri.storage.results import ResultRows, read_arrays, stage_arrays
from hakoiri.timing import clock
from hakoiri.worker.transport.payload import Array

BEST, ROUND = "best", "round"
#: Improvements come by the hundred; the last one is committed at this interval, and when a round or session ends.
_KEEP_SECONDS = 0.2
#: The time of a beam's first commit, the interval of further ones, and the part of the time that they may take.
_FIRST_BEAM_SECONDS = 0.5
_BEAM_SECONDS, _BEAM_PART = 3.0, 0.04
#: A last beam is begun only if at least this part of the session's time is left.
_WORTH_A_ROUND = 0.1
_PROFILE = 100
#: The moves needed to measure the speed of a beam; until then that of the previous beam is used.
_LEAST_PACE = 400
#: The columns of a table of rounds.
_COLUMNS = ("width", "score", "layers", "tried", "seconds")


@dataclass(frozen=True)
class OptimiseFigures(Figures):
    """The score and the moves of the best play, the moves tried, and the number of finished rounds.

    No play scores more than `bound`; ``None`` in older runs.
    """

    score: int = 0
    moves: int = 0
    moves_tried: int = field(default=0, metadata={"formerly": "configurations"})
    rounds: int = 0
    bound: int | None = None


def best_of(ledger: Ledger, within: float = float("inf")) -> plans.Best:
    """Return the best stored play found `within` so many seconds. `DamagedError` names an invalid row."""
    found = ResultRows(ledger, BEST).all(plans.Best).values()
    return max((best for best in found if best.seconds <= within), key=lambda best: best.rank, default=plans.NO_PLAY)


class Optimise(Study[OptimisePlan, plans.Round]):
    """A search for the best play, round after round, limited by total seconds or rounds."""

    plan_class, row_class, figures, table, numbered = OptimisePlan, plans.Round, OptimiseFigures, ROUND, "number"
    from_start = True
    row_noun = "rounds and a best play"
    remedy = "forgotten"
    facts = (
        "strategy", "seed", "score", "moves", "sequence", "no play scores more than: bound", "gap", "moves_tried",
        "rounds",
    )  # fmt: skip
    limit = "rounds"
    parameters = OptimiseKind
    puzzle: Scored

    @classmethod
    def request(cls, spec: PuzzleSpec, asked: OptimiseKind) -> Request:
        puzzle, board = cls.puzzle_kind(spec), None
        if puzzle.large_boards and spec.start is not None:
            # It has no key, so it goes into the plan.
            board, spec = puzzle.tidy_board(spec.start), PuzzleSpec(spec.name, spec.options, digest=spec.digest)
        return super().request(spec, OptimisePlan(**vars(asked), board=board))

    def begin(self) -> None:
        super().begin()
        self._best = best_of(self.store)
        self._kept, self._kept_at = self._best, time.monotonic()
        self._beam_at = self._kept_at + _FIRST_BEAM_SECONDS
        self._unfinished = 0
        self._arena = self.puzzle.arena(self.plan.board)
        self._bound = OptimiseFigures.of(self.store.state).bound
        self._span = self.seconds_left

    def make_rows(self) -> None:
        """Search round after round; the best play and the current beam are durable at a `StopRun`."""
        if self.plan.strategy == BEAM:
            self._beams()
        else:
            self._games()
        if self._bound is None:
            # Last, so that plays get all of the time.
            self.commit()
            self._bound = self.puzzle.bound(self.plan.board, self.session.control.check)
        if self._bound < self._best.score:
            raise TaskError(f"a play scores {self._best.score:,}, above the bound of all scores, {self._bound:,}")

    def _goes_on(self, number: int) -> bool:
        if self.most is not None:
            return number < self.most
        return self.seconds_left > 0 or not self._best.moves

    def _games(self) -> None:
        """Play the games of a strategy one after another; a fixed strategy has only one game."""
        strategy = self.puzzle.games.index(self.plan.strategy)

        def asked() -> Iterator[tuple[tuple[int, int], GamesRequest]]:
            for first, games in self._missing_games():
                if (first and self.plan.strategy in self.puzzle.fixed_games) or not self._goes_on(first):
                    return
                yield (first, games), GamesRequest(strategy, self.plan.seed, first, games)

        shared = [*self._arena.shared, self._arena.first[0]]
        for (first, games), game in self.answers("play", PlayedGame, asked(), shared):
            self._offer(game.score, game.sequence, first)
            seconds = round(self.session.seconds, 3)
            self.keep(first, plans.Round(first, games, game.score, len(game.sequence), game.tried, seconds, []))
            self.commit()
            self._tell(f"games {first + games:,}")

    def _missing_games(self) -> Iterator[tuple[int, int]]:
        """Yield the first of some missing games, and their number, up to the next played one or the last."""
        played, number = dict(self.known), 0
        while True:
            if number in played:
                number += played[number].width
                continue
            ends = {first for first in played if first > number}
            if self.most is not None:
                ends.add(max(number + 1, self.most))
            # A few at first: with a time limit the last of them may come late.
            games = min(self._arena.games, number + 1, *(end - number for end in ends))
            yield number, games
            number += games

    def _beams(self) -> None:
        memory = self.session.context.budget.memory
        self._widest = most_width(self._arena, self.puzzle, memory)
        if (self.plan.width or 0) > self._widest:
            text = f"a beam of width {self.plan.width:,} does not fit in {memory >> 20:,} MB of memory"
            raise OverBudgetError(text, Hint("raise", "memory"), Hint("give", "width", f"{self._widest}"))
        # A repair may have erased any of them.
        for number in (number for number in count() if number not in self.known):
            # A last beam that has little time would not be better than those before.
            is_short = number >= 2 and self.most is None and self.seconds_left <= _WORTH_A_ROUND * self._span
            if not self._goes_on(number) or (is_short and not self._unfinished):
                return
            self._one_beam(number)
            if number not in self.known:
                return

    def _one_beam(self, number: int) -> None:
        """Search a beam until its end, or until the time is over."""
        seed, value = self.plan.seed * 1_000 + number, (self.plan.price, self.plan.rising)
        beam = Beam(self.session.context, self.puzzle, self._arena, seed, *value)
        taken, widest = self._resume(beam, number)
        tried_before, began = beam.tried, clock()
        while not beam.finished and (self.seconds_left > 0 or not self._best.moves):
            try:
                self.session.control.check()
            except StopRun:
                # IMPORTANT: not after an interrupted step, which leaves an inconsistent beam.
                self._keep_beam(beam, number, taken, widest, at_once=True)
                raise
            width = self._width(beam, number, beam.tried - tried_before, clock() - began)
            widest = max(widest, width)
            if beam.step(width):
                self._offer(beam.points, beam.sequence, number)
            taken.append(beam.taken)
            self._unfinished = beam.tried
            self._keep_beam(beam, number, taken, widest)
            self._tell(f"beam {number + 1} of width {width:,}, layer {beam.depth:,}")
        if not beam.finished:
            self._keep_beam(beam, number, taken, widest, at_once=True)
            return
        profile = [taken[len(taken) * part // _PROFILE] for part in range(_PROFILE)] if taken else []
        seconds = round(self.session.seconds, 3)
        self.keep(number, plans.Round(number, widest, beam.points, beam.depth, beam.tried, seconds, profile))
        self._unfinished = 0
        stage_arrays(self.store, {})
        self.commit()

    def _width(self, beam: Beam, number: int, tried: int, seconds: float) -> int:
        if self.plan.width is not None:
            return self.plan.width
        if not number or self.most is not None:
            return min(self._widest, plans.FIRST_WIDTH << number)
        before = self.known[number - 1]
        if tried < _LEAST_PACE or seconds < 0.1:
            earlier = self.known.get(number - 2)
            tried, seconds = before.tried, max(1e-3, before.seconds - (earlier.seconds if earlier else 0.0))
        return plans.fitted_width(before, beam.taken, self.seconds_left, tried / seconds, self._widest)

    def _resume(self, beam: Beam, number: int) -> tuple[list[int], int]:
        """Restore a stored beam, if any; return the points it has taken by layer, and its greatest width."""
        try:
            arrays = read_arrays(self.store)
            if not arrays or arrays["round"].tolist() != [number]:
                return [], 0
            beam.go_on_from(arrays)
            self._unfinished = beam.tried
            return arrays["taken"].tolist(), int(arrays["widest"][0])
        except (DamagedError, KeyError, ValueError) as error:
            self.session.observer.note(f"beam {number + 1} restarts: {error}")
            return [], 0

    def _keep_beam(self, beam: Beam, number: int, taken: list[int], widest: int, at_once: bool = False) -> None:
        """Commit the beam, with the best play, or only the play, if the last commit is long enough ago."""
        now = time.monotonic()
        if at_once or now >= self._beam_at:
            own = {"round": [number], "taken": taken, "widest": [widest]}
            arrays: dict[str, Array] = {name: np.array(value, dtype=np.int64) for name, value in own.items()}
            stage_arrays(self.store, beam.arrays() | arrays)
            self.commit()
            after = time.monotonic()
            self._beam_at = after + max(_BEAM_SECONDS, (after - now) / _BEAM_PART)
        elif self._best is not self._kept and now - self._kept_at > _KEEP_SECONDS:
            self.commit()

    def _offer(self, score: int, sequence: list[int], number: int) -> None:
        seconds = round(self.session.seconds, 3)
        best = plans.Best(score, self.puzzle.spell(sequence), len(sequence), number, seconds)
        if best.rank > self._best.rank:
            self._best = best

    def commit(self, **life: Any) -> None:
        if self._best is not self._kept:
            ResultRows(self.store, BEST).stage(self._best.round, self._best)
        super().commit(**life)
        self._kept, self._kept_at = self._best, time.monotonic()

    @property
    def _tried(self) -> int:
        return sum(each.tried for each in self.known.values()) + self._unfinished

    def tally(self, rows: Mapping[int, plans.Round]) -> OptimiseFigures:
        beams = self.plan.strategy == BEAM
        done = len(rows) if beams else sum(each.width for each in rows.values())
        return OptimiseFigures(self._best.score, self._best.moves, self._tried, done, self._bound)

    def _tell(self, what: str) -> None:
        left = self.seconds_left
        headline = f"best {self._best.score:,} in {counted(self._best.moves, 'moves')}; {what}"
        seconds = (left, left) if 0 <= left < float("inf") else None
        self.session.tell(Progress(self._tried, None, "moves tried", headline, seconds))

    def is_done(self) -> bool:
        """Return whether it has all its rounds, and the bound; always false with a time limit."""
        figures = OptimiseFigures.of(self.store.state)
        return self.most is not None and figures.rounds >= self.most and figures.bound is not None

    def repair(self, session: Session) -> None:
        try:
            read_arrays(self.store)
        except DamagedError as error:
            session.observer.note(f"{error}; the beam restarts")
            stage_arrays(self.store, {})
        super().repair(session)

    def verify(self, check: Check) -> None:
        best = best_of(self.store)
        check.report.count("rounds", len(self.stored()))
        check.report.count("moves", best.moves)
        score = self.puzzle.replay(best.sequence, self.plan.board)
        if score != best.score:
            check.report.fault(f"the score of the best play is {best.score:,}, but {score:,} by the reference rules")
        if better := [number + 1 for number, each in self.stored().items() if each.score > best.score]:
            check.report.fault(f"round {better[0]} scores more than the best play")
        said = OptimiseFigures.of(self.store.state)
        if (said.score, said.moves) != (best.score, best.moves):
            check.report.fault(
                f"the best play has score {best.score:,}, but {said.score:,} in {said.moves:,} moves in the state"
            )
        # An older run may have a weaker bound.
        if said.bound is not None and said.bound < (bound := self.puzzle.bound(self.plan.board)):
            check.report.fault(f"the bound of all scores is {bound:,}, but {said.bound:,} in the state")
        read_arrays(self.store)

    def best_play(self) -> Play:
        """Return the best play found so far."""
        best = best_of(self.store)
        return Play(best.score, best.moves, best.sequence, False, [])

    def tables(self) -> list[Table]:
        rounds = sorted(self.stored().items())
        rows = [{"round": number + 1} | {name: getattr(each, name) for name in _COLUMNS} for number, each in rounds]
        return last_rows("rounds", rows)

    def summary(self, budget: Budget) -> dict[str, Any]:
        play, bound = self.best_play(), OptimiseFigures.of(self.store.state).bound
        return play.row() | {"gap": None if bound is None else bound - play.score}
