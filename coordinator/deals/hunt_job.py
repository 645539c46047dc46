"""Hunts as runs: made, driven, verified and reported like all others."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from coordinator.deals.certificate import certify
from coordinator.deals.hunt import LEG, Hunted, Hunting, legs_of, records_of
from coordinator.deals.hunt_plan import HuntPlan, Record, hunted, records_among
from coordinator.deals.memory import fitted
from coordinator.errors import ContradictionError
from coordinator.session.budget import Budget
from coordinator.session.control import Observer
from coordinator.session.job import Job, Table
from coordinator.session.report import Check
from coordinator.session.resources import Resources
from coordinator.session.session import Session
from puzzles.capabilities import Dealt
from puzzles.contract import Puzzle
from puzzles.registry import PuzzleSpec
from storage.ledger.manifest import Progress
from storage.results.rows import ResultRows
from worker.warm import load_solving_kernels, load_walking_kernels

#: Records shown; the first ones come by the dozen.
_ROWS = 12


class HuntDeals(Job):
    """A search for the hardest deal, for so many seconds or legs in all."""

    named_by_plan = True
    figures = Hunted
    puzzle: Dealt

    @classmethod
    def admit(cls, spec: PuzzleSpec, plan: Mapping[str, Any]) -> Puzzle:
        HuntPlan(**plan)
        return hunted(spec)

    @property
    def plan(self) -> HuntPlan:
        """What is hunted for."""
        return HuntPlan(**self.store.manifest.plan)

    @property
    def best(self) -> Record | None:
        """The best record."""
        return next(reversed(records_of(self.store)), None)

    def deal_spec(self, record: Record) -> PuzzleSpec:
        """The puzzle with a record's deal as its start."""
        return replace(PuzzleSpec.from_dict(self.store.manifest.puzzle), start=record.deal)

    def fitted(self, resources: Resources, observer: Observer) -> Resources:
        return fitted(self.puzzle, self.plan.cap, resources, observer)

    def settled(self) -> bool:
        legs = self.store.limits().get("legs")
        return legs is not None and set(range(int(legs))) <= set(ResultRows(self.store, LEG).numbers())

    def prepare(self) -> None:
        load_solving_kernels(self.puzzle)
        load_walking_kernels(self.puzzle)

    def work(self, session: Session) -> None:
        Hunting(session, self.puzzle).run()
        session.commit(replace(self.store.state, status="complete"))

    def repair(self, session: Session) -> None:
        """A leg that cannot be read is walked again."""
        rows = ResultRows(self.store, LEG)
        for number, fault in rows.faults().items():
            session.observer.note(f"{fault}; walking the leg again")
            rows.forget(number)
        self.store.commit(self.store.state)

    def verify(self, check: Check) -> None:
        """The best record is derived again by a search by layers; with `full` every one."""
        legs = legs_of(self.store)
        records = records_among(legs)
        check.report.count("legs", len(legs))
        chosen, resources = records if check.full else records[-1:], Resources(memory=check.context.budget.memory)
        for done, record in enumerate(chosen, 1):
            check.control.check()
            try:
                certify(self.deal_spec(record), record.figures, resources, check.control, check.observer)
            except ContradictionError as error:
                check.report.fault(str(error))
            check.report.count("records")
            check.observer.progress(Progress(done, len(chosen), "records derived again"))
        said, found = Hunted.of(self.store.state).best_score, records[-1].score if records else None
        if said != found:
            check.report.fault(f"the state says that the best is {said}, the best record has {found}")

    def summary(self, budget: Budget) -> dict[str, Any]:
        records = [asdict(record) for record in records_of(self.store)]
        positions = Hunted.of(self.store.state).configurations
        return {"positions": positions, "best": records[-1] if records else None, "records": records}

    def facts(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        best = summary["best"]
        return {
            f"most {self.plan.objective}": None if best is None else best["score"],
            "deal": None if best is None else "\n".join(best["deal"].split("/")),
            "deals tried": summary["deals"],
            "positions generated": summary["positions"],
        }

    def tables(self) -> list[Table]:
        records = records_of(self.store)
        rows = [
            {"after": f"{record.seconds:,.0f} s", "deal": number, **asdict(record.figures), "when": record.when}
            for number, record in enumerate(records, 1)
        ]
        left = f"{len(rows) - _ROWS} records before" if len(rows) > _ROWS else ""
        return [Table("records", rows[-_ROWS:], rest=left)] if rows else []
