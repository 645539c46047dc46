"""The kind of run for censuses: the whole space, its components and their exact distances."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hakoiri.coordinator.graphs.census import (
    ALL,
    BY,
    DIAMETERS,
    JOINS,
    LAYERS,
    NONE,
    Census,
    CensusFigures,
    check_wanted,
)
from hakoiri.coordinator.graphs.verify import CensusVerifier
from hakoiri.coordinator.layers.job import layer_summary
from hakoiri.coordinator.session.job import Job, Request, Table
from hakoiri.coordinator.session.resources import Budget
from hakoiri.coordinator.session.session import Session
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.errors import Hint, PuzzleError
from hakoiri.puzzles.registry import PuzzleSpec, puzzle_class
from hakoiri.storage.layers.audit import check_layer
from hakoiri.storage.names import BLOCKS, COMPONENTS, LABELS, META, NUMBERS_KEY, PAIRS, PARTIAL_KEY, ROWS
from hakoiri.storage.results.census import component_figures, read_component
from hakoiri.worker.warm import load_graph_kernels, load_search_kernels

_LARGEST_SHOWN = 6


class CensusJob(Job):
    """A census of all configurations of a puzzle."""

    has_graph = True
    kernels = (load_search_kernels, load_graph_kernels)
    figures = CensusFigures
    check_class = CensusVerifier

    @classmethod
    def by_hosts(cls, puzzle: Puzzle) -> bool:
        return True

    @classmethod
    def parse_request(  # type: ignore[override]
        cls, spec: PuzzleSpec, *, until_goal: bool = False, diameters: str = ALL, by: str = JOINS
    ) -> Request:
        """Return the requested run; `diameters` selects the components to measure, `by` is the way to find them."""
        # A plan without these fields means all, and by joins.
        chosen = ({} if diameters == ALL else {DIAMETERS: diameters}) | ({} if by == JOINS else {BY: by})
        return Request(spec, {**super().parse_request(spec, until_goal=until_goal).plan, **chosen}, {})

    @classmethod
    def validate(cls, spec: PuzzleSpec, plan: Mapping[str, Any]) -> Puzzle:
        _check_spec(spec, plan)
        puzzle = spec.build()
        if not puzzle.undirected and plan.get(DIAMETERS, NONE) != NONE:
            # A census stores distances between all configurations of a component; here some do not exist.
            raise PuzzleError(
                f"{puzzle.name} is directed, so its components have no diameters", Hint("leave out", DIAMETERS)
            )
        return puzzle

    def work(self, session: Session) -> None:
        Census(session).run()

    def repair(self, session: Session) -> None:
        """Erase everything but sound configurations, so that `work` counts again, which is quick."""
        store = session.store
        sound = store.state.depth >= 0 and not list(check_layer(store, 0))
        session.observer.note("counting the components again" if sound else "counting everything again")
        for database in (*([] if sound else [BLOCKS]), LABELS, COMPONENTS, PAIRS, ROWS):
            store.erase(database)
        for name in (PARTIAL_KEY, NUMBERS_KEY):
            store.erase(META, name)
        found = CensusFigures(CensusFigures.of(store.state).configurations if sound else 0)
        state = replace(store.state, digest="", figures=found.as_dict())
        store.commit(state if sound else replace(state, depth=-1))

    def summary(self, budget: Budget) -> dict[str, Any]:
        return layer_summary(self.store.layer_records())

    def facts(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "configurations": summary["configurations"],
            "moves between them": summary["edges"],
            "components": summary["components"],
            "start in component": summary["start_component"],
        }

    def tables(self) -> list[Table]:
        """Return the largest components, once all are measured."""
        count = CensusFigures.of(self.store.state).components
        if self.store.state.status != "complete" or count is None:
            return []
        shown = [read_component(self.store, number) for number in range(min(count, _LARGEST_SHOWN))]
        rest = f"{count - len(shown):,} smaller ones" if count > len(shown) else ""
        return [Table("components", [component_figures(record) for record in shown], "", rest, "components")]

    def questions(self) -> list[str]:
        if self.store.manifest.plan.get(DIAMETERS) == NONE:
            return ["hardest"]
        if not self.puzzle.undirected:
            return ["strong components"]
        return ["components" if DIAMETERS in self.store.manifest.plan else "diameter"]


def _check_spec(spec: PuzzleSpec, plan: Mapping[str, Any]) -> None:
    puzzle = puzzle_class(spec.name, spec.digest)
    check_wanted(plan.get(DIAMETERS, ALL))
    if plan.get(BY, JOINS) not in (JOINS, LAYERS):
        raise PuzzleError(f"by {plan[BY]!r} is not {JOINS} or {LAYERS}")
    if plan.get(BY) == LAYERS and not puzzle.undirected:
        raise PuzzleError(f"{puzzle.name} is directed: a search does not find its components", Hint("leave out", BY))
    if plan.keys() - {DIAMETERS, BY}:
        raise PuzzleError("a census counts every configuration, so it has no goal", Hint("leave out", "until_goal"))
    if spec.start is not None and not puzzle.start_is_board:
        raise PuzzleError("a census counts every configuration, so it has no start", Hint("leave out", "start"))
    if spec.start is None and puzzle.start_is_board:
        raise PuzzleError(f"a census of {puzzle.name} needs a board", Hint("give", "start", "BOARD"))
    if puzzle.configurations is Puzzle.configurations:
        raise PuzzleError(f"{puzzle.name} cannot list its whole space", Hint("leave out", "whole"))
