"""Optimisations: good plays of a scored board that is too large to be exhausted."""

from collections.abc import Mapping
from typing import Any

from hakoiri.coordinator.plays.optimise import Optimisation, OptimiseFigures, best_of, rounds_of
from hakoiri.coordinator.plays.plan import BEAM, PRICE, SECONDS, OptimisePlan, optimised
from hakoiri.coordinator.session.check import Check
from hakoiri.coordinator.session.job import Play, Request, Table
from hakoiri.coordinator.session.resources import Budget
from hakoiri.coordinator.session.rows import last_rows, limited
from hakoiri.coordinator.session.session import Session
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.errors import PuzzleError
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.scored import Scored
from hakoiri.storage.errors import DamagedError
from hakoiri.storage.results.rows import read_arrays, stage_arrays
from hakoiri.worker.warm import load_moving_kernels

#: The columns of a table of rounds.
_COLUMNS = ("width", "score", "layers", "tried", "seconds")


class Optimise(Optimisation):
    """A search for the best play, limited by total seconds or rounds."""

    from_start = True
    kernels = (load_moving_kernels,)
    row_noun = "rounds and a best play"

    @classmethod
    def parse_request(  # type: ignore[override]
        cls, spec: PuzzleSpec, *, strategy: str = BEAM, seed: int = 1, width: int | None = None,
        seconds: float = SECONDS, rounds: int | None = None, price: float = PRICE, rising: bool = False,
    ) -> Request:  # fmt: skip
        spec, plan = optimised(spec, strategy, seed, width, price, rising)
        return Request(spec, plan, limited(seconds, "rounds", rounds))

    @classmethod
    def validate(cls, spec: PuzzleSpec, plan: Mapping[str, Any]) -> Puzzle:
        puzzle = spec.build()
        if not isinstance(puzzle, Scored):
            raise PuzzleError(f"{puzzle.name} has no scored moves")
        OptimisePlan(**plan).check(puzzle)
        return puzzle

    def is_done(self) -> bool:
        """Return whether it has all its rounds; always false with a time limit."""
        return self.most is not None and OptimiseFigures.of(self.store.state).rounds >= self.most

    def repair(self, session: Session) -> None:
        try:
            read_arrays(self.store)
        except DamagedError as error:
            session.observer.note(f"{error}; the beam restarts")
            stage_arrays(self.store, {})
        super().repair(session)

    def verify(self, check: Check) -> None:
        best = best_of(self.store)
        check.report.count("rounds", len(rounds_of(self.store)))
        check.report.count("moves", best.moves)
        score = self.puzzle.replay(best.sequence, self.plan.board)
        if score != best.score:
            check.report.fault(f"the score of the best play is {best.score:,}, but {score:,} by the reference rules")
        said = OptimiseFigures.of(self.store.state)
        if (said.score, said.moves) != (best.score, best.moves):
            check.report.fault(
                f"the best play has score {best.score:,}, but {said.score:,} in {said.moves:,} moves in the state"
            )
        # An older run may have a weaker bound.
        if said.bound is not None and said.bound < (bound := self.puzzle.bound(self.plan.board)):
            check.report.fault(f"the bound of all scores is {bound:,}, but {said.bound:,} in the state")
        read_arrays(self.store)

    def best_play(self, budget: Budget) -> Play:
        best = best_of(self.store)
        return Play(best.score, best.moves, best.sequence, False, [])

    def tables(self) -> list[Table]:
        rounds = rounds_of(self.store)
        rows = [
            {"round": number + 1} | {name: getattr(rounds[number], name) for name in _COLUMNS}
            for number in sorted(rounds)
        ]
        return last_rows("rounds", rows)

    def summary(self, budget: Budget) -> dict[str, Any]:
        play, bound = self.best_play(budget), OptimiseFigures.of(self.store.state).bound
        return play.row() | {"gap": None if bound is None else bound - play.score}

    def facts(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        own = {name: summary[name] for name in ("strategy", "seed", "score", "moves", "sequence")}
        proved = {"no play scores more than": summary["bound"], "gap": summary["gap"]}
        return own | proved | {"moves tried": summary["moves_tried"], "rounds": summary["rounds"]}
