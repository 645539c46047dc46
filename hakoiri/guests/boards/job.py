"""Studies of boards: the whole space of every mix of pieces, measured by workers."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import islice
from typing import Any

from hakoiri.coordinator.session.check import Check
from hakoiri.coordinator.session.job import Request, Table
from hakoiri.coordinator.session.resources import Budget, Resources
from hakoiri.coordinator.session.session import Observer
from hakoiri.errors import Hint, OverBudgetError, PuzzleError
from hakoiri.guests.boards.family import OPEN, Components, Member, MemberRequest, measure
from hakoiri.guests.boards.kind import MixesKind
from hakoiri.guests.boards.mixes import Boards, Mix, goal_of, in_reading_order
from hakoiri.guests.deals.dealt import Family
from hakoiri.guests.deals.searching import MOST_POSITIONS, Hex
from hakoiri.guests.study import Study, first_rows, fit_threads, require_version
from hakoiri.keys.layout import ints
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.ledger.manifest import Figures, Progress
from hakoiri.storage.results import ResultRows
from hakoiri.worker.layers.kernels import layers_within

MIXES, COMPONENTS = "mix", "component"
#: Increase it when a study finds other figures than before.
_VERSION = 1
#: The row number of a component that is a task of its own: its mix's number times this, plus its own.
ROOM = 1 << 12


@dataclass(frozen=True)
class BoardsPlan(MixesKind):
    """The parameters, with the pieces and numbers of empty cells in one form."""

    boards_version: int = _VERSION

    def check(self, puzzle: Family) -> None:
        self.mixes()

    def mixes(self) -> list[Mix]:
        """Return every mix; `PuzzleError` for an invalid plan."""
        require_version(self.boards_version, "studies of boards", _VERSION)
        if self.hardest and not self.goal:
            raise PuzzleError("the hardest starts are those farthest from a goal", Hint("give", "goal", "PIECE@R,C"))
        mixes = self.boards.mixes()
        if self.goal:
            goal_of(self.boards.size, mixes[0].pieces, self.goal)
        return mixes

    @property
    def boards(self) -> Boards:
        return Boards.parse(self.size, self.pieces, self.empty)

    def asked(self, mix: Mix, component: int | None = None) -> MemberRequest:
        """Return the workers' task for a mix, or for one of its components."""
        return MemberRequest(mix.board, self.goal_in(mix), self.pairs, component, self.hardest)

    def goal_in(self, mix: Mix) -> str:
        """Return the goal as a board of a mix; empty without a goal, or if the mix has no such piece."""
        return goal_of(self.boards.size, mix.pieces, self.goal) if self.goal else ""


@dataclass(frozen=True)
class MixFigures(Figures):
    """The number of mixes, the number of measured ones, and totals over these.

    `isolated` is the number of components that are single configurations, `diameter` the largest known.
    """

    mixes: int = 0
    mixes_done: int = 0
    configurations: int = 0
    components: int = 0
    isolated: int = 0
    largest_component: int = 0
    diameter: int = 0


def filled(known: Components, more: Components) -> Components:
    """Return `known` with the diameters and pairs of `more` components."""
    diameter, pair, pairs = list(known.diameter), list(known.pair), list(known.pairs)
    for place, number in enumerate(more.number):
        diameter[number], pair[number], pairs[number] = more.diameter[place], more.pair[place], more.pairs[place]
    return replace(known, diameter=diameter, pair=pair, pairs=pairs)


def _board(puzzle: Family, key: Hex) -> str:
    """Return a board in letters by reading order, so that they do not depend on the mix."""
    return in_reading_order(puzzle.render(int(key, 16)))


def component_row(known: Components, place: int, puzzle: Family) -> dict[str, Any]:
    """Return the figures of a component; ``None`` for unknown and unrequested ones."""
    columns = ("size", "diameter", "pairs", "moves")
    size, diameter, pairs, moves = (getattr(known, name)[place] for name in columns)
    one, other = (None,) * 2 if diameter == OPEN else (_board(puzzle, key) for key in known.pair[place])
    row = {"size": size, "diameter": diameter, "one": one, "other": other, "pairs": pairs, "moves": moves}
    hardest = None if moves == OPEN else _board(puzzle, known.hardest[place])
    return {name: None if value == OPEN else value for name, value in row.items()} | {"hardest": hardest}


def mix_row(mix: Mix, member: Member, puzzle: Family) -> dict[str, Any]:
    """Return the row of a mix: the totals over its components, and the component with the greatest diameter."""
    known, places = member.components, range(len(member.components.number))
    wide, far = (
        component_row(known, max(places, key=values.__getitem__), puzzle) for values in (known.diameter, known.moves)
    )
    own: dict[str, Any] = {"configurations": member.configurations, "edges": member.edges, "components": len(places)}
    own |= {"isolated": known.size.count(1), "largest": known.size[0], "diameter": wide["diameter"]}
    own |= {"pair": [wide["one"], wide["other"]], "pairs": wide["pairs"]}
    return {"mix": str(mix), "empty": mix.empty} | own | {name: far[name] for name in ("moves", "hardest")}


#: Bytes per configuration while a mix is measured: moves, their copy by components, 64 distances.
_BYTES = 400
#: The most mixes shown, and the mixes that are derived again without ``--full``.
_SHOWN, _SAMPLE = 8, 4


class StudyBoards(Study[BoardsPlan, Member]):
    """Measures the whole space of each mix of given pieces on a board."""

    plan_class, row_class, figures, table = BoardsPlan, Member, MixFigures, MIXES
    row_noun = "mixes and components"
    remedy = "measuring it again"
    facts = (
        "goal", "mixes", "configurations", "components", "largest_component", "isolated ones: isolated",
        "largest diameter: diameter", "of: mix", "between: pair",
    )  # fmt: skip
    parameters = MixesKind
    puzzle: Family

    @classmethod
    def request(cls, spec: PuzzleSpec, asked: MixesKind) -> Request:
        cls.puzzle_kind(spec)
        plan = BoardsPlan(**vars(asked) | {"pieces": " ".join(asked.pieces.split()), "empty": asked.empty.strip()})
        return super().request(replace(spec, start=plan.mixes()[0].board), plan)

    @cached_property
    def _mixes(self) -> list[Mix]:
        return self.plan.mixes()

    def limit_resources(self, resources: Resources, observer: Observer) -> Resources:
        """Return as many threads as can each hold a large mix; `OverBudgetError` if none can."""
        memory, needed = resources.budget().memory, _BYTES * max(mix.configurations for mix in self._mixes)
        if resources.redis is None and needed > memory:
            raise OverBudgetError(
                f"the largest mix needs {needed >> 20:,} MB, above the limit of {memory >> 20:,} MB",
                Hint("raise", "memory"),
            )
        return fit_threads(resources, needed, "", observer, Hint("raise", "memory"))

    def stored(self) -> dict[int, Member]:
        """Return the results of each mix by number, including components that were tasks of their own."""
        found = super().stored()
        for number, member in ResultRows(self.store, COMPONENTS).all(Member).items():
            # A component of a mix that a repair has erased waits until the mix is measured again.
            if (mix := number // ROOM) in found:
                found[mix] = replace(found[mix], components=filled(found[mix].components, member.components))
        return found

    def make_rows(self) -> None:
        missing = [mix for mix in range(len(self._mixes)) if mix not in self.known]
        # The largest first, so that no worker is still busy with one at the end.
        missing.sort(key=lambda mix: -self._mixes[mix].configurations)
        self._measure([(mix, None) for mix in missing])
        self._measure([(mix, part) for mix, member in self.known.items() for part in member.components.left()])

    def _measure(self, orders: Sequence[tuple[int, int | None]]) -> None:
        """Measure mixes, or single components of some."""
        asked = (((mix, part), self.plan.asked(self._mixes[mix], part)) for mix, part in orders)
        for (mix, part), found in self.answers("member", Member, asked):
            if part is None:
                self.keep(mix, found)
            else:
                ResultRows(self.store, COMPONENTS).stage(mix * ROOM + part, found)
                known = self.known[mix]
                self.known[mix] = replace(known, components=filled(known.components, found.components))
            whole = [member.configurations for member in self.known.values() if not member.components.left()]
            total, mixes = sum(each.configurations for each in self._mixes), f"{len(whole)} of {len(self._mixes)} mixes"
            self.tell(Progress(sum(whole), total, headline=mixes))

    def tally(self, rows: Mapping[int, Member]) -> MixFigures:
        known = [member.components for member in rows.values()]
        return MixFigures(
            len(self._mixes),
            sum(not components.left() for components in known),
            sum(member.configurations for member in rows.values()),
            sum(len(components.number) for components in known),
            sum(components.size.count(1) for components in known),
            max((components.size[0] for components in known), default=0),
            max((max(components.diameter) for components in known), default=0),
        )

    def verify(self, check: Check) -> None:
        """Measure mixes again, without `full` a sample; search from ends of diameters and hardest starts by layers."""
        members = self.stored()
        for mix in check.some(sorted(members), _SAMPLE, "mixes measured again"):
            self._derive(self._mixes[mix], members[mix], check)
        for row in check.some(self.boards(), _SAMPLE, "hardest starts solved again"):
            check.report.count("hardest starts")
            puzzle = self.puzzle.member(row["board"], row["goal"])
            layers, _ = layers_within(puzzle, puzzle.keys([puzzle.start]), MOST_POSITIONS)
            moves = next((depth for depth, layer in enumerate(layers) if puzzle.is_goal(layer).any()), None)
            if moves != row["moves"]:
                check.report.fault(f"{row['board']} is {moves} moves from the goal, but {row['moves']} in the run")
        whole = sum(not member.components.left() for member in members.values())
        self.check_rows(check, whole, len(self._mixes), "mixes", "measured")
        self.check_sums(check, members)

    def _derive(self, mix: Mix, known: Member, check: Check) -> None:
        found = measure(self.puzzle, self.plan.asked(mix))
        for component in found.components.left():
            more = measure(self.puzzle, self.plan.asked(mix, component))
            found = replace(found, components=filled(found.components, more.components))
        check.report.count("mixes")
        check.report.count("components", len(found.components.number))
        if (said := known.configurations) != mix.configurations:
            check.report.fault(f"{mix} has {said:,} configurations, counted are {mix.configurations:,}")
        if replace(found, components=replace(found.components, pair=known.components.pair)) != known:
            check.report.fault(f"{mix} has {found.components}, but {known.components} in the run")
        puzzle = self.puzzle.member(mix.board)
        for component, (one, other) in enumerate(known.components.pair):
            # The first pair found depends on the order of the search.
            if not component or (one, other) != found.components.pair[component]:
                layers, _ = layers_within(puzzle, puzzle.keys([int(one, 16)]), known.configurations + 1)
                if len(layers) - 1 != known.components.diameter[component] or int(other, 16) not in ints(layers[-1]):
                    check.report.fault(f"{mix}: the ends of component {component} are not its diameter apart")

    def _puzzle(self, mix: int) -> Family:
        return self.puzzle.member(self._mixes[mix].board)

    def boards(self) -> list[dict[str, Any]]:
        """Return the hardest starts of all mixes, one of each symmetry class; ties go to the first mix, least key."""
        members, plan, puzzle_of = self.stored() if self.plan.hardest else {}, self.plan, cache(self._puzzle)
        starts = [(-far, mix, key, image) for mix, member in members.items() for far, key, image in member.starts]
        first: dict[str, tuple[int, int, Hex]] = {}
        for less, mix, key, image in sorted(starts, key=lambda start: (*start[:2], int(start[2], 16))):
            first.setdefault(image, (-less, mix, key))
        return [
            {"moves": moves, "mix": str(self._mixes[mix]), "empty": self._mixes[mix].empty,
             "board": _board(puzzle_of(mix), key), "goal": plan.goal_in(self._mixes[mix])}
            for moves, mix, key in islice(first.values(), plan.hardest)
        ]  # fmt: skip

    def _mix_rows(self) -> list[dict[str, Any]]:
        return [mix_row(self._mixes[mix], member, self._puzzle(mix)) for mix, member in sorted(self.stored().items())]

    def summary(self, budget: Budget) -> dict[str, Any]:
        tally = Counter(diameter for member in self.stored().values() for diameter in member.components.diameter)
        diameters, rows = (
            {str(value): number for value, number in sorted(tally.items()) if value != OPEN},
            self._mix_rows(),
        )
        best = max(rows, key=lambda row: row["diameter"], default={"pair": None, "mix": None})
        found = {"diameters": diameters, "rows": rows, "starts": self.boards()}
        return {name: best[name] for name in ("pair", "mix")} | found

    def tables(self) -> list[Table]:
        """Return the mixes with the greatest diameters, or with the hardest boards if there is a goal."""
        what = "moves" if self.plan.goal else "diameter"
        mixes = sorted(self._mix_rows(), key=lambda row: -(row[what] or 0))
        starts = [{"rank": rank, **row} for rank, row in enumerate(self.boards(), 1)]
        for row in (*mixes, *starts):
            for hidden in row.keys() & {"pair", "hardest", "goal"}:
                del row[hidden]
        found = first_rows("mixes", mixes, _SHOWN, "export writes every component")
        return found + ([Table("hardest starts", starts, "The hardest starts")] if starts else [])

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each component of each mix, in order; ``None`` for unknown and unrequested values."""
        for number, member in sorted(self.stored().items()):
            mix, puzzle, known = self._mixes[number], self._puzzle(number), member.components
            for place, component in enumerate(known.number):
                row = {"mix": str(mix), "empty": mix.empty, "component": component}
                yield row | component_row(known, place, puzzle)
