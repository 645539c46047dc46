"""Studies of boards: the whole space of every mix of pieces, each mix and each large component given to the workers."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from coordinator.errors import OverBudgetError
from coordinator.families.plan import BoardsPlan, family_of
from coordinator.session.job import Check, Job, Request, Table
from coordinator.session.resources import Budget, Resources
from coordinator.session.session import Observer, Session
from puzzles.capabilities import Family
from puzzles.contract import Puzzle
from puzzles.errors import Step, counted
from puzzles.families.mixes import Mix
from puzzles.keys.layout import ints
from puzzles.registry import PuzzleSpec
from storage.errors import DamagedError
from storage.ledger.ledger import Ledger
from storage.ledger.manifest import Figures, Progress
from storage.results.rows import ResultRows
from worker.cores import usable_cores
from worker.deals.solving import layers_from
from worker.graphs.family import OPEN, Components, Member, answered, measure, member_of, plain, request
from worker.warm import load_family_kernels

MIXES, COMPONENTS = "mix", "component"
#: A component of its own is the row of its mix's number times this, and its own.
_ROOM = 1 << 12
#: What whoever measures a mix holds of each configuration: moves, their copy by components, 64 distances.
_BYTES = 400
#: A large mix may take a minute of a busy worker; one that dies is found out by its silence.
_DEADLINE_SECONDS = 900.0
#: Mixes shown, and mixes that are derived again without ``--full``.
_SHOWN, _SAMPLE = 8, 4


@dataclass(frozen=True)
class Counted(Figures):
    """How many mixes there are and how many are done, and what these have.

    `isolated` is the number of components that are single configurations, `diameter` the largest known.
    """

    mixes: int = 0
    mixes_done: int = 0
    configurations: int = 0
    components: int = 0
    isolated: int = 0
    largest_component: int = 0
    diameter: int = 0


def read_members(ledger: Ledger) -> dict[int, Member]:
    """What is known of each mix, by its number, components that were tasks of their own filled in."""
    try:
        found = {number: member_of(row) for number, row in ResultRows(ledger, MIXES).all().items()}
        for number, row in ResultRows(ledger, COMPONENTS).all().items():
            # That of a mix which a repair has forgotten waits until the mix is measured again.
            if (mix := number // _ROOM) in found:
                found[mix] = replace(found[mix], components=_filled(found[mix].components, member_of(row).components))
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedError(f"run {ledger.directory.name}: a row of a mix is none: {error}") from error
    return found


def _filled(known: Components, more: Components) -> Components:
    """`known`, and of some components diameter and pairs."""
    diameter, pair, pairs = list(known.diameter), list(known.pair), list(known.pairs)
    for place, number in enumerate(more.number):
        diameter[number], pair[number], pairs[number] = more.diameter[place], more.pair[place], more.pairs[place]
    return replace(known, diameter=diameter, pair=pair, pairs=pairs)


def counted_of(mixes: int, members: Mapping[int, Member]) -> Counted:
    """The figures of a study so far."""
    known = [member.components for member in members.values()]
    return Counted(
        mixes,
        sum(not components.left() for components in known),
        sum(member.configurations for member in members.values()),
        sum(len(components.number) for components in known),
        sum(components.size.count(1) for components in known),
        max((components.size[0] for components in known), default=0),
        max((max(components.diameter) for components in known), default=0),
    )


class _Studying:
    """One session's time with a study."""

    def __init__(self, session: Session, plan: BoardsPlan) -> None:
        self._session, self._store, self._plan = session, session.store, plan
        self._mixes = plan.mixes()
        self._members = read_members(self._store)

    def run(self) -> None:
        """Measure what is missing. Raises `StopRun` having kept what is finished."""
        try:
            missing = [mix for mix in range(len(self._mixes)) if mix not in self._members]
            # The largest first, so that none is left over at the end.
            missing.sort(key=lambda mix: -self._mixes[mix].configurations)
            self._ask([(mix, None) for mix in missing])
            left = [(mix, component) for mix, member in self._members.items() for component in member.components.left()]
            self._ask(left)
        finally:
            if not self._store.poisoned:
                self._commit()
        self._session.commit(replace(self._store.state, status="complete"))

    def _ask(self, orders: Sequence[tuple[int, int | None]]) -> None:
        chunks = (request(self._plan.asked(self._mixes[mix], component)) for mix, component in orders)
        for place, result in self._session.context.executor.map("member", chunks):
            self._keep(*orders[place], answered(result))
            self._session.control.check()

    def _keep(self, mix: int, component: int | None, found: Member) -> None:
        if component is None:
            ResultRows(self._store, MIXES).stage(mix, plain(found))
            self._members[mix] = found
        else:
            ResultRows(self._store, COMPONENTS).stage(mix * _ROOM + component, plain(found))
            known = self._members[mix]
            self._members[mix] = replace(known, components=_filled(known.components, found.components))
        whole = [member.configurations for member in self._members.values() if not member.components.left()]
        total, mixes = sum(each.configurations for each in self._mixes), f"{len(whole)} of {len(self._mixes)} mixes"
        self._session.tell(Progress(sum(whole), total, headline=mixes))
        if self._session.commit_is_due:
            self._commit()

    def _commit(self) -> None:
        found = counted_of(len(self._mixes), self._members)
        self._session.commit(replace(self._store.state, figures=found.as_dict()))


class StudyBoards(Job):
    """All mixes of some pieces on a board, the whole space of each."""

    named_by_plan = True
    figures = Counted
    instead = "mixes and components"
    puzzle: Family

    @classmethod
    def requested(  # type: ignore[override]
        cls,
        spec: PuzzleSpec,
        *,
        size: str = "",
        pieces: str = "",
        empty: str = "2",
        goal: str = "",
        pairs: bool = False,
    ) -> Request:
        plan = BoardsPlan(size, " ".join(pieces.split()), empty.strip(), goal, pairs)
        return Request(replace(spec, start=plan.mixes()[0].board), asdict(plan), {})

    @classmethod
    def admit(cls, spec: PuzzleSpec, plan: Mapping[str, Any]) -> Puzzle:
        BoardsPlan(**plan).mixes()
        return family_of(spec)

    @property
    def plan(self) -> BoardsPlan:
        return BoardsPlan(**self.store.manifest.plan)

    def fitted(self, resources: Resources, observer: Observer) -> Resources:
        """No more threads than may each hold a large mix; `OverBudgetError` where memory allows none."""
        if resources.redis is not None:
            return replace(resources, deadline=resources.deadline or _DEADLINE_SECONDS)
        memory, wanted = resources.budget().memory, resources.workers or len(usable_cores())
        needed = _BYTES * max(mix.configurations for mix in self.plan.mixes())
        if needed > memory:
            raise OverBudgetError(
                f"the largest mix needs {needed >> 20:,} MB, {memory >> 20:,} MB are allowed", Step("raise", "memory")
            )
        threads = min(wanted, memory // needed)
        if threads < wanted:
            said = f"{threads} of {wanted} threads: each may need {needed >> 20:,} MB"
            observer.note(said, Step("raise", "memory"))
        return replace(resources, workers=threads)

    def settled(self) -> bool:
        return self.store.state.status == "complete"

    def prepare(self) -> None:
        load_family_kernels(self.puzzle)

    def work(self, session: Session) -> None:
        _Studying(session, self.plan).run()

    def repair(self, session: Session) -> None:
        for table in (MIXES, COMPONENTS):
            ResultRows(self.store, table).forget_damaged(session.observer.note, "measuring it again")
        self.store.commit(self.store.state)

    def verify(self, check: Check) -> None:
        """Mixes are measured again, a sample without `full`; ends of diameters are searched from by layers."""
        mixes, members = self.plan.mixes(), read_members(self.store)
        places = check.places(len(members), _SAMPLE, 0).tolist()
        for done, mix in enumerate([sorted(members)[place] for place in places], 1):
            check.control.check()
            self._derive(mixes[mix], members[mix], check)
            check.observer.progress(Progress(done, len(places), "mixes measured again"))
        if self.store.state.status == "complete":
            if len(members) != len(mixes) or any(member.components.left() for member in members.values()):
                check.report.fault(f"{counted(len(mixes), 'mixes')} there are, {len(members):,} are measured")
            if counted_of(len(mixes), members).as_dict() != Counted.of(self.store.state).as_dict():
                check.report.fault("the figures of the run are not the sums of its rows")

    def _derive(self, mix: Mix, known: Member, check: Check) -> None:
        found = measure(self.puzzle, self.plan.asked(mix))
        for component in found.components.left():
            more = measure(self.puzzle, self.plan.asked(mix, component))
            found = replace(found, components=_filled(found.components, more.components))
        check.report.count("mixes")
        check.report.count("components", len(found.components.number))
        if known.configurations != mix.configurations:
            said = f"{known.configurations:,} configurations, counted are {mix.configurations:,}"
            check.report.fault(f"{mix} has {said}")
        if replace(found, components=replace(found.components, pair=known.components.pair)) != known:
            check.report.fault(f"{mix} has {found.components}, the run says {known.components}")
        puzzle = self.puzzle.member(mix.board)
        for component, (one, other) in enumerate(known.components.pair):
            # Which of all pairs is met first depends on how one searches.
            if component and (one, other) == found.components.pair[component]:
                continue
            layers, _ = layers_from(puzzle, puzzle.keys([one]), known.configurations + 1)
            if len(layers) - 1 != known.components.diameter[component] or other not in ints(layers[-1]):
                check.report.fault(f"{mix}: the ends of component {component} are not its diameter apart")

    def summary(self, budget: Budget) -> dict[str, Any]:
        mixes, members = self.plan.mixes(), read_members(self.store)
        tally = Counter(diameter for member in members.values() for diameter in member.components.diameter)
        tally.pop(OPEN, None)
        rows = [mix_row(mixes[number], member, self.puzzle) for number, member in sorted(members.items())]
        best = max(rows, key=lambda row: row["diameter"], default=None)
        widest = None if best is None else {name: best[name] for name in ("pair", "mix")}
        return (widest or {"pair": None, "mix": None}) | {
            "diameters": {str(value): number for value, number in sorted(tally.items())}, "rows": rows,
        }  # fmt: skip

    def facts(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        names = {"largest component": "largest_component", "isolated ones": "isolated"}
        own = {label: summary[name] for label, name in names.items()}
        widest = {"largest diameter": summary["diameter"], "of": summary["mix"]}
        first = {name: summary[name] for name in ("mixes", "configurations", "components")}
        pair = summary["pair"]
        return first | own | widest | {"between": None if pair is None else "\n".join(pair)}

    def tables(self) -> list[Table]:
        """The mixes with the greatest diameters, or with the hardest boards where there is a goal."""
        mixes, members, what = self.plan.mixes(), read_members(self.store), "moves" if self.plan.goal else "diameter"
        rows = [mix_row(mixes[number], member, self.puzzle) for number, member in sorted(members.items())]
        rows.sort(key=lambda row: -(row[what] or 0))
        for row in rows:
            del row["pair"], row["hardest"]
        left = f"{counted(len(rows) - _SHOWN, 'mixes')}; export writes every component" if len(rows) > _SHOWN else ""
        return [Table("mixes", rows[:_SHOWN], rest=left)] if rows else []

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each component of each mix, in order; what is not known, or not asked, is ``None``."""
        mixes = self.plan.mixes()
        for number, member in sorted(read_members(self.store).items()):
            yield from component_rows(mixes[number], member, self.puzzle.member(mixes[number].board))


def mix_row(mix: Mix, member: Member, family: Family) -> dict[str, Any]:
    """What a study says of a mix: of its components together, and of the one with the greatest diameter."""
    known, puzzle = member.components, family.member(mix.board)
    widest = max(range(len(known.number)), key=lambda place: (known.diameter[place], -place))
    far = max(range(len(known.number)), key=lambda place: (known.moves[place], -place))
    goal = known.moves[far] != OPEN
    return {
        "mix": str(mix),
        "empty": mix.empty,
        "configurations": member.configurations,
        "edges": member.edges,
        "components": len(known.number),
        "isolated": known.size.count(1),
        "largest": known.size[0],
        "diameter": known.diameter[widest],
        "pair": [puzzle.render(key) for key in known.pair[widest]],
        "pairs": None if known.pairs[widest] == OPEN else known.pairs[widest],
        "moves": known.moves[far] if goal else None,
        "hardest": puzzle.render(known.hardest[far]) if goal else None,
    }


def component_rows(mix: Mix, member: Member, puzzle: Family) -> Iterator[dict[str, Any]]:
    """A row for each component of a mix."""
    known = member.components
    for place, component in enumerate(known.number):
        one, other = (puzzle.render(key) for key in known.pair[place])
        open_one, far = known.diameter[place] == OPEN, known.moves[place] != OPEN
        yield {
            "mix": str(mix),
            "empty": mix.empty,
            "component": component,
            "size": known.size[place],
            "diameter": None if open_one else known.diameter[place],
            "one": None if open_one else one,
            "other": None if open_one else other,
            "pairs": None if known.pairs[place] == OPEN else known.pairs[place],
            "moves": known.moves[place] if far else None,
            "hardest": puzzle.render(known.hardest[place]) if far else None,
        }
