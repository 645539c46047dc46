"""Studies as runs: made, driven, verified and reported like all others."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from coordinator.deals.memory import fitted
from coordinator.deals.study import Studied, Studying, deal_of, deal_requests, kept_deals, missing_deals
from coordinator.deals.study_plan import Study, StudyPlan, dealt_class
from coordinator.deals.study_report import report, tables
from coordinator.deals.study_table import Deal
from coordinator.session.budget import Budget
from coordinator.session.control import Observer
from coordinator.session.job import Job, Table
from coordinator.session.report import Check
from coordinator.session.resources import Resources
from coordinator.session.session import Session
from coordinator.session.verifier import sample_places
from puzzles.capabilities import Dealt
from puzzles.contract import Puzzle
from puzzles.registry import PuzzleSpec
from storage.ledger.manifest import Progress, State
from storage.results.rows import ResultRows
from worker.deals.solving import answered
from worker.tasks import do_task
from worker.warm import load_solving_kernels

#: Deals of each size that are searched again without ``--full``.
_SAMPLE = 16


class StudyDeals(Job):
    """The first deals of a seed, solved, for each of some sizes."""

    named_by_plan = True
    figures = Studied
    puzzle: Dealt

    @classmethod
    def admit(cls, spec: PuzzleSpec, plan: Mapping[str, Any]) -> Puzzle:
        StudyPlan(**plan).check(dealt_class(spec.name, spec.digest))
        return spec.build()

    @classmethod
    def pinned(cls, puzzle: Puzzle) -> dict[str, str]:
        """Not the size: one study has several."""
        size = puzzle.size_option if isinstance(puzzle, Dealt) else ""
        return {name: value for name, value in puzzle.parameters.items() if name != size}

    @classmethod
    def extended(cls, limits: Mapping[str, Any], state: State, waiting: Mapping[str, Any]) -> dict[str, Any]:
        """Of a study that waits in the queue both the sizes that it waits for and the new ones, with the most deals."""
        sizes = {*limits["sizes"], *waiting.get("sizes", ())}
        return {"sizes": sorted(sizes), "deals": max(limits["deals"], waiting.get("deals", 0))}

    @property
    def study(self) -> Study:
        """What is to be done."""
        return Study.of(self.store, self.puzzle)

    def fitted(self, resources: Resources, observer: Observer) -> Resources:
        largest = self.puzzle.sized(max(self.study.sizes))
        return fitted(largest, self.study.plan.cap, resources, observer)

    def settled(self) -> bool:
        return not any(missing_deals(self.study, self.store).values())

    def prepare(self) -> None:
        load_solving_kernels(self.puzzle)

    def work(self, session: Session) -> None:
        Studying(session, self.study).run()

    def repair(self, session: Session) -> None:
        """A deal that cannot be read is searched again."""
        for size in self.study.sizes:
            rows = ResultRows(self.store, self.study.named(size))
            for number, fault in rows.faults().items():
                session.observer.note(f"{fault}; searching the deal again")
                rows.forget(number)
        self.store.commit(self.store.state)

    def verify(self, check: Check) -> None:
        """Deals are searched again, with a sample of each size."""
        study, found = self.study, kept_deals(self.study, self.store)
        for size, deals in found.items():
            places = range(len(deals)) if check.full else sample_places(len(deals), _SAMPLE, size).tolist()
            for done, place in enumerate(places, 1):
                check.control.check()
                self._derive(study, deals[place], check)
                check.observer.progress(Progress(done, len(places), f"deals of {study.named(size)} searched again"))
        done = sum(map(len, found.values()))
        if self.store.state.status == "complete" and done != len(study.sizes) * study.deals:
            check.report.fault(f"{done:,} deals are there of {len(study.sizes) * study.deals:,}")

    def _derive(self, study: Study, deal: Deal, check: Check) -> None:
        puzzle = self.puzzle.sized(deal.size)
        asked = deal_requests(study, puzzle, deal.number)
        answers = {place: answered(do_task("solve", puzzle, each, [])) for place, each in enumerate(asked)}
        derived = deal_of(study, puzzle, deal.number, answers)
        check.report.count("deals")
        if replace(derived, seconds=deal.seconds) != deal:
            check.report.fault(f"deal {deal.number} of {study.named(deal.size)} is {derived}, the run says {deal}")

    def summary(self, budget: Budget) -> dict[str, Any]:
        return report(self.study, kept_deals(self.study, self.store))

    def facts(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "deals": f"{self.study.deals:,} of seed {summary['seed']} for each size",
            "searched": {"bfs": "breadth first", "dfs": "depth first"}[summary["strategy"]],
            "at most": f"{summary['cap']:,} positions",
        }

    def tables(self) -> list[Table]:
        return tables(self.study, kept_deals(self.study, self.store))
