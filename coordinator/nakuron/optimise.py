"""Good plays of a large board of Nakuron, found in the time given: the best one so far is always on disk.

A file of findings holds a row ``best`` for each round, and a row ``round`` for each that came to its end: a beam, or
some games. A beam under way is in a checkpoint beside it.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from coordinator.errors import StopRun
from coordinator.executors.opening import open_context
from coordinator.nakuron.beam import FRONTIERS_HELD, Beam
from coordinator.nakuron.optimise_plan import (
    BEAM,
    FIRST_WIDTH,
    PUZZLE,
    Best,
    Limits,
    Outcome,
    Plan,
    Round,
    fitted_width,
    most_width,
    require_width,
)
from coordinator.session.control import Control, Observer
from coordinator.session.resources import Resources
from coordinator.session.session import ComputeContext
from puzzles.jit import prepare
from puzzles.nakuron.board import Board, replay, tilt
from puzzles.nakuron.ground import field_of, ground_of
from puzzles.registry import PuzzleSpec
from storage.errors import DamagedError, StorageError
from storage.ledger.manifest import Progress
from storage.results.checkpoint import read_checkpoint, remove_checkpoint, write_checkpoint
from storage.results.findings import Findings
from worker.errors import TaskError
from worker.nakuron.tilting import game_answered, games_request, load_tilting_kernels
from worker.tasks import Array, Arrays
from worker.warm import PREPARING

_BEST, _ROUND = "best", "round"
#: Better plays come by the hundred; the last one is made durable so often, and whenever a round or the call ends.
_KEEP_SECONDS = 0.2
#: Checkpoints: the first one, how far apart they are, and the part of the time that they may take.
_FIRST_CHECKPOINT_SECONDS = 0.5
_CHECKPOINT_SECONDS, _CHECKPOINT_PART = 3.0, 0.04
#: A last beam is begun only when at least this part of the time of the one before is left.
_WORTH_A_ROUND = 0.1
#: Cells tilted in a chunk of games at least.
_CELLS_PER_CHUNK = 10_000
_PROFILE = 100
#: So many tilts say how fast a beam is; before that the one before it does.
_LEAST_PACE = 400


def kept(plan: Plan, data: Path) -> Outcome:
    """What earlier calls have found."""
    with Findings(plan.file(data), plan.about()) as findings:
        return _Search(plan, data, findings).outcome()


def optimise(
    plan: Plan, data: Path, resources: Resources, limits: Limits, control: Control, observer: Observer
) -> Outcome:
    """Go on with an optimisation, or begin it, until `limits`. The same plan goes on where it stopped.

    Raises `StopRun` when `control` stops it; the best play and the beam under way are kept.
    """
    plan.check()
    began = time.monotonic()
    spec = PuzzleSpec(PUZZLE)
    puzzle = spec.build()
    prepare(load_tilting_kernels, lambda: observer.note(PREPARING))
    with (
        Findings(plan.file(data), plan.about()) as findings,
        open_context(puzzle, spec, resources, control, observer) as context,
    ):
        search = _Search(plan, data, findings)
        search.go_on(context, limits, control, observer, began)
        return search.outcome()


class _Search:
    """One call's time with the findings of an optimisation."""

    def __init__(self, plan: Plan, data: Path, findings: Findings) -> None:
        self._plan, self._findings, self._path = plan, findings, plan.checkpoint(data)
        try:
            self._rounds = {number: Round.of(number, row) for number, row in findings.rows(_ROUND).items()}
            found = [Best(**row) for row in findings.rows(_BEST).values()]
        except TypeError as error:
            raise StorageError(f"{findings.path} is damaged: {error}; move it away and begin anew") from error
        self._best = max(found, key=lambda best: best.rank, default=Best(0, "", 0, 0.0))
        self._kept = self._best
        self._before = max(
            [best.seconds for best in found] + [each.seconds for each in self._rounds.values()], default=0.0
        )
        self._began = self._kept_at = time.monotonic()
        self._unfinished = 0

    def outcome(self) -> Outcome:
        """Everything so far."""
        tilts = sum(each.tilts for each in self._rounds.values()) + self._unfinished
        return Outcome(self._best, len(self._rounds), tilts, round(self._seconds, 3))

    @property
    def _seconds(self) -> float:
        return self._before + time.monotonic() - self._began

    def go_on(
        self, context: ComputeContext, limits: Limits, control: Control, observer: Observer, began: float
    ) -> None:
        """Round after round."""
        self._context, self._limits, self._control, self._observer = context, limits, control, observer
        self._began, self._checked_at = began, began + _FIRST_CHECKPOINT_SECONDS
        self._ground, self._field = ground_of(self._plan.board), field_of(self._plan.board)
        self._proving = _seconds_of_a_move(self._plan.board)
        try:
            if self._plan.strategy == BEAM:
                self._beams()
            else:
                self._games()
        finally:
            self._keep(at_once=True)
        self._prove()

    def _left(self) -> float:
        """Seconds that are left of this call."""
        if self._limits.rounds is not None or self._limits.seconds is None:
            return float("inf")
        return self._limits.seconds - (time.monotonic() - self._began) - self._proving * len(self._best.sequence)

    def _goes_on(self, number: int) -> bool:
        if self._limits.rounds is not None:
            return number < self._limits.rounds
        return self._left() > 0 or not self._best.sequence

    # Games

    def _games(self) -> None:
        """The games of a strategy that plays one after another; that of a fixed cycle is always the same."""
        count = max(1, _CELLS_PER_CHUNK // self._plan.board.size**2)
        missing = self._missing_games()

        def chunks() -> Iterator[Arrays]:
            for number in missing:
                if (number and self._plan.strategy == "cycle") or not self._goes_on(number):
                    return
                asked.append(number)
                yield games_request(self._plan.strategy, self._plan.seed, number * count, count)

        asked: list[int] = []
        for place, result in self._context.executor.map("play", chunks(), [*self._ground, self._field]):
            self._take_games(asked[place], game_answered(result))

    def _missing_games(self) -> Iterator[int]:
        number = 0
        while True:
            if number not in self._rounds:
                yield number
            elif self._limits.rounds is not None and number >= self._limits.rounds:
                return
            number += 1

    def _take_games(self, number: int, game: Any) -> None:
        self._offer(game.score, game.sequence, number)
        self._keep(at_once=True)
        self._end_round(Round(number, 1, game.score, len(game.sequence), game.tilts, round(self._seconds, 3), []))
        self._report(f"games {number + 1:,}", self._unfinished)

    # Beams

    def _beams(self) -> None:
        field_bytes, memory = self._field.nbytes, self._context.budget.memory
        self._most = most_width(field_bytes, memory, FRONTIERS_HELD)
        if self._plan.width is not None:
            require_width(self._plan.width, self._most, memory)
        number = len(self._rounds)
        while self._goes_on(number):
            if not self._worth_a_round(number):
                return
            self._one_beam(number)
            if number not in self._rounds:
                return
            number += 1

    def _worth_a_round(self, number: int) -> bool:
        """Whether there is time for a beam that could be better than those before."""
        if number < 2 or self._limits.rounds is not None or self._path.exists():
            return True
        return self._left() > _WORTH_A_ROUND * (self._limits.seconds or 0.0)

    def _one_beam(self, number: int) -> None:
        """A beam until its end, or that of the time."""
        beam = Beam(self._context, self._ground, self._field, self._plan.board.balls, self._plan.seed * 1_000 + number)
        dropped, widest = self._resume(beam, number)
        tilts_before, began = beam.tilts, time.monotonic()
        while not beam.finished and (self._left() > 0 or not self._best.sequence):
            try:
                self._control.check()
                width = self._width(beam, number, beam.tilts - tilts_before, time.monotonic() - began)
                widest = max(widest, width)
                if beam.step(width):
                    self._offer(beam.points, beam.sequence, number)
            except StopRun:
                self._checkpoint(beam, number, dropped, widest, at_once=True)
                raise
            dropped.append(beam.dropped)
            self._unfinished = beam.tilts
            self._keep()
            self._checkpoint(beam, number, dropped, widest)
            self._report(f"beam {number + 1} of width {width:,}, layer {beam.depth:,}", beam.tilts)
        if not beam.finished:
            self._checkpoint(beam, number, dropped, widest, at_once=True)
            return
        self._keep(at_once=True)
        # A beam that is cut up by the clock cannot be told from its end by a kill: first the row, then the file.
        profile = [dropped[len(dropped) * part // _PROFILE] for part in range(_PROFILE)] if dropped else []
        self._end_round(Round(number, widest, beam.points, beam.depth, beam.tilts, round(self._seconds, 3), profile))
        remove_checkpoint(self._path)

    def _width(self, beam: Beam, number: int, tilts: int, seconds: float) -> int:
        """That of the next layer."""
        if self._plan.width is not None:
            return self._plan.width
        if not number or self._limits.rounds is not None:
            return min(self._most, FIRST_WIDTH << number)
        before = self._rounds[number - 1]
        if tilts < _LEAST_PACE or seconds < 0.1:
            tilts, seconds = before.tilts, max(1e-3, self._pace_of(before))
        return fitted_width(before, beam.dropped, self._left(), tilts / seconds, self._most)

    def _pace_of(self, before: Round) -> float:
        """The seconds of a round."""
        earlier = self._rounds.get(before.number - 1)
        return before.seconds - (earlier.seconds if earlier else 0.0)

    def _resume(self, beam: Beam, number: int) -> tuple[list[int], int]:
        """Put a beam where its checkpoint is, if there is one; what it has dropped by layer, and its widest layer."""
        try:
            arrays = read_checkpoint(self._path)
            if arrays is None or arrays["round"].tolist() != [number]:
                return [], 0
            beam.go_on_from(arrays)
            self._before = max(self._before, float(arrays["seconds"][0]) - (time.monotonic() - self._began))
            return arrays["dropped"].tolist(), int(arrays["widest"][0])
        except (DamagedError, KeyError, ValueError) as error:
            self._observer.note(f"beam {number + 1} begins anew: {error}")
            remove_checkpoint(self._path)
            return [], 0

    def _checkpoint(self, beam: Beam, number: int, dropped: list[int], widest: int, at_once: bool = False) -> None:
        now = time.monotonic()
        if not at_once and now < self._checked_at:
            return
        # IMPORTANT: the play before the beam, which goes on as if the play were known.
        self._keep(at_once=True)
        own = {"round": [number], "dropped": dropped, "widest": [widest]}
        arrays: dict[str, Array] = {name: np.array(value, dtype=np.int64) for name, value in own.items()}
        write_checkpoint(self._path, beam.arrays() | arrays | {"seconds": np.array([self._seconds])})
        taken = time.monotonic() - now
        self._checked_at = time.monotonic() + max(_CHECKPOINT_SECONDS, taken / _CHECKPOINT_PART)

    # What is found

    def _offer(self, score: int, sequence: list[int], number: int) -> None:
        best = Best(score, "".join(map(str, sequence)), number, round(self._seconds, 3))
        if best.rank > self._best.rank:
            self._best = best

    def _keep(self, at_once: bool = False) -> None:
        """Make the best play durable, if it is a new one and the last time is long enough ago."""
        now = time.monotonic()
        if self._best is self._kept or not (at_once or now - self._kept_at > _KEEP_SECONDS):
            return
        self._findings.add(_BEST, self._best.round, vars(self._best))
        self._kept, self._kept_at = self._best, now

    def _end_round(self, ended: Round) -> None:
        self._unfinished = 0
        self._findings.add(_ROUND, ended.number, ended.figures())
        self._rounds[ended.number] = ended

    def _prove(self) -> None:
        """Raise `TaskError` unless the plain rules give the best play the score that it is said to have."""
        score = played(self._plan.board, self._best.sequence)
        if score != self._best.score:
            raise TaskError(
                f"the best play is said to score {self._best.score:,}, but by the rules it scores {score:,}"
            )

    def _report(self, what: str, done: int) -> None:
        left = self._left()
        clock = f", {int(left) // 60}:{int(left) % 60:02d} left" if 0 <= left < float("inf") else ""
        best = f"best {self._best.score:,} in {len(self._best.sequence):,} moves{clock}; "
        self._observer.progress(Progress(done, None, "tilts", best + what))


def _seconds_of_a_move(board: Board) -> float:
    """What a move takes by the plain rules: the proof of the best play needs its part of the time, too."""
    began = time.monotonic()
    tilt(board.rows, board.frame, 0)
    return time.monotonic() - began


def played(board: Board, sequence: str) -> int:
    """The score of a sequence by the plain rules."""
    return sum(tilted.score for tilted in replay(board, [int(side) for side in sequence]))
