"""A kind of run for tests of the life that all kinds share: it counts, and keeps a row for each number."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from hakoiri.coordinator.runs.kinds import KINDS
from hakoiri.coordinator.session.check import Check
from hakoiri.coordinator.session.job import Job, Request
from hakoiri.coordinator.session.kind import RunKind
from hakoiri.coordinator.session.resources import Budget
from hakoiri.coordinator.session.session import Session
from hakoiri.errors import DamagedError, PuzzleError
from hakoiri.parameters import flag, parameter
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.ledger.manifest import Figures, Progress
from hakoiri.storage.names import ROWS, number_key


@dataclass(frozen=True)
class Counted(Figures):
    """The figures of a count."""

    counted: int = 0


@dataclass(frozen=True)
class Count(RunKind):
    """Count to a number."""

    job = "tests.system.toy_kind:Counting"
    example, words = "count hanoi --step 2", 1
    puzzle = "Any puzzle."
    step: int = parameter("--step", "N", "Size of a step.", default=1, min=1)
    to: int = parameter("--to", "N", "Number to count to.", default=1_000, typed="1k", amount="count")
    tens: bool = flag("--tens", "Count in tens.")

    @classmethod
    def fits(cls, puzzle: type[Any]) -> bool:
        return bool(puzzle.usual_kind != "tree")


class Counting(Job):
    """Counts to the limit ``to``, in the steps that its plan pins."""

    parameters, figures = Count, Counted
    facts = ("counted to: counted",)
    #: Called before each step, with the number of those done.
    pause: ClassVar[Callable[[int], None]] = staticmethod(lambda done: None)

    @classmethod
    def request(cls, spec: PuzzleSpec, asked: Count) -> Request:
        return Request(spec, {"step": asked.step * (10 if asked.tens else 1)}, {"to": asked.to})

    @classmethod
    def validate(cls, spec: PuzzleSpec, plan: Mapping[str, Any]) -> Puzzle:
        if set(plan) != {"step"}:
            raise PuzzleError(f"a count has a step, not {sorted(plan)}")
        return spec.build()

    def work(self, session: Session) -> None:
        found, limit = Counted.of(self.store.state), self.store.limits()["to"]
        while found.counted < limit:
            type(self).pause(found.counted)
            session.control.check()
            found = replace(found, counted=found.counted + self.store.manifest.plan["step"])
            self.store.stage_record(ROWS, number_key(found.counted), {"number": found.counted})
            session.tell(Progress(found.counted, limit, "numbers", f"counting by {self.store.manifest.plan['step']}"))
            session.commit(replace(self.store.state, figures=found.as_dict()))
        session.commit(replace(self.store.state, status="complete", digest=f"{found.counted:064x}"))

    def repair(self, session: Session) -> None:
        self.store.erase(ROWS)
        session.commit(replace(self.store.state, digest="", figures=Counted().as_dict()))

    def verify(self, check: Check) -> None:
        found = Counted.of(self.store.state)
        for number in range(1, found.counted + 1):
            check.report.count("numbers")
            if self.store.read(ROWS, number_key(number)) is None:
                raise DamagedError(f"number {number} is missing")

    def summary(self, budget: Budget) -> dict[str, Any]:
        return {"rows": len(self.store.names(ROWS))}

    def questions(self) -> list[str]:
        return ["recount --twice"]


def register(pause: Callable[[int], None] = lambda done: None) -> None:
    """The kind ``count`` is known in this process from now on."""
    KINDS["count"] = "tests.system.toy_kind:Count"
    Counting.pause = staticmethod(pause)
