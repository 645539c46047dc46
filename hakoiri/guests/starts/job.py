"""Studies of starts: a list of them, each searched by itself; workers search one each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hakoiri.coordinator.errors import NO_GOAL
from hakoiri.coordinator.session.check import Check
from hakoiri.coordinator.session.job import Request, Table
from hakoiri.coordinator.session.kind import require_one
from hakoiri.coordinator.session.resources import Budget, Resources
from hakoiri.coordinator.session.session import Observer
from hakoiri.errors import ConfigurationError, Hint, PuzzleError, remark, remarks, require_within
from hakoiri.guests.deals.dealt import Family
from hakoiri.guests.deals.searching import StartFigures, StartRequest, bytes_of_search, measure, puzzle_from
from hakoiri.guests.starts import kind as kinds
from hakoiri.guests.study import Study, first_rows, fit_threads, require_version
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.starts import read_starts
from hakoiri.storage.ledger.manifest import Figures, Progress
from hakoiri.worker.layers.kernels import plain_layers

START = "start"
#: The most starts that are searched again without ``--full``, and that are shown.
_SAMPLE, _SHOWN = 4, 40
_MOST_CAP = 1_000_000_000
#: Spaces of up to this many configurations are searched again by the rules in plain Python, too.
_PLAIN = 5_000
#: Increase it when a study finds other figures than before.
_VERSION = 1


@dataclass(frozen=True)
class StartsPlan:
    """The name, perhaps empty, and text of each start, and its goal as a board; the most configurations of a search.

    `goal` is the goal as the user gave it. Only a `Family` has goals here: for another puzzle it is an option.
    """

    listed: tuple[tuple[str, str, str], ...]
    goal: str
    cap: int
    starts_version: int = _VERSION

    def check(self, puzzle: Puzzle) -> None:
        require_version(self.starts_version, "studies of starts", _VERSION)
        if isinstance(puzzle, Family) and puzzle.names_pieces:
            raise PuzzleError("the starts have different pieces, so no option can name them by letters")

    def asked(self, number: int) -> StartRequest:
        """Return the workers' task for a start."""
        _, start, goal = self.listed[number]
        return StartRequest(start, goal, self.cap)


@dataclass(frozen=True)
class StartsFigures(Figures):
    """The number of starts, of searched ones, of those with a way to a goal, and the configurations of all."""

    starts: int = 0
    starts_done: int = 0
    solvable: int = 0
    configurations: int = 0


class StudyStarts(Study[StartsPlan, StartFigures]):
    """Searches from each start of a list."""

    plan_class, row_class, figures, table = StartsPlan, StartFigures, StartsFigures, START
    parameters = kinds.StartsKind
    row_noun = "starts"
    remedy = "searching from it again"
    own_options = staticmethod(lambda puzzle: ("goal",) if isinstance(puzzle, Family) else ())
    facts = ("starts", "goal: goal_text", "with a way to the goal: ways", "capped", "configurations")

    @classmethod
    def request(cls, spec: PuzzleSpec, asked: kinds.StartsKind) -> Request:
        kind = cls.puzzle_kind(spec)
        require_one(spec, asked.starts)
        require_within("cap", asked.cap, 1, _MOST_CAP)
        with remarks() as notes:  # A puzzle would remark on an option again for each start.
            found = read_starts(asked.starts, lambda text: _read(replace(spec, start=text)))
            rows = [text for _, text, (_, is_row) in found if is_row]
            if len(rows) > 1:
                raise ConfigurationError(
                    f"the starts {rows[0]!r} and {rows[1]!r} are boards of one row; join the rows of a board by '/'"
                )
            # As it is pinned: the text of a collection means a goal, too.
            first = replace(spec, start=found[0][1]).build().start_text()
        for note in notes:
            remark(note)
        options = dict(spec.options)
        # A goal means other pieces for each board.
        goal = options.pop("goal", "") if issubclass(kind, Family) else ""
        listed = [[name, text, goal] for name, text, (goal, _) in found]
        plan = {"listed": listed, "goal": goal, "cap": asked.cap, "starts_version": _VERSION}
        return Request(replace(spec, options=options, start=first), plan, {})

    def limit_resources(self, resources: Resources, observer: Observer) -> Resources:
        needed = 2 * bytes_of_search(self.puzzle, self.plan.cap)
        return fit_threads(resources, needed, " at the cap", observer, Hint("lower", "cap"))

    def make_rows(self) -> None:
        missing = (number for number in range(len(self.plan.listed)) if number not in self.known)
        asked = ((number, self.plan.asked(number)) for number in missing)
        for number, found in self.answers("start", StartFigures, asked):
            self.keep(number, found)
            self.tell(Progress(len(self.known), len(self.plan.listed), "starts"))

    def tally(self, rows: Mapping[int, StartFigures]) -> StartsFigures:
        found = rows.values()
        solvable = sum(row.moves is not None for row in found)
        return StartsFigures(len(self.plan.listed), len(found), solvable, sum(row.configurations for row in found))

    def verify(self, check: Check) -> None:
        """Search from starts again, without `full` from a sample; small spaces by the rules in plain Python, too."""
        rows = self.stored()
        for number in check.some(sorted(rows), _SAMPLE, "starts searched again"):
            said, asked = rows[number], self.plan.asked(number)
            check.report.count("starts")
            check.report.count("configurations", said.configurations)
            if (found := measure(self.puzzle, asked)) != said:
                check.report.fault(f"start {number + 1} has {found}, but {said} in the run")
            if found.exhausted and found.configurations <= _PLAIN:
                plain = plain_figures(puzzle_from(self.puzzle, asked.start, asked.goal))
                if plain != (found.layers, found.moves):
                    check.report.mistake(f"start {number + 1} has layers and fewest moves {plain} by the plain rules")
        self.check_rows(check, len(rows), len(self.plan.listed), "starts", "searched")
        self.check_sums(check, rows)

    def boards(self) -> list[dict[str, Any]]:
        """Return the starts of a `Family` that have a way to the goal, in the order of the list."""
        rows = self._told() if isinstance(self.puzzle, Family) else ()
        return [row | {"board": row["start"]} for row in rows if row["moves"] is not None]

    def _told(self) -> Iterator[dict[str, Any]]:
        for number, row in sorted(self.stored().items()):
            name, start, goal = self.plan.listed[number]
            known = {"number": number + 1, "name": name, "start": start, "goal": goal, "moves": row.moves}
            known |= {"configurations": row.configurations, "depth": len(row.layers) - 1, "exhausted": row.exhausted}
            yield known | {"hardest_moves": row.hardest_moves, "hardest": row.hardest, "layers": row.layers}

    def summary(self, budget: Budget) -> dict[str, Any]:
        return {"rows": list(self._told())}

    @property
    def goal_text(self) -> str | None:
        return None if isinstance(self.puzzle, Family) else super().goal_text

    @property
    def ways(self) -> int | str:
        has_goal = self.puzzle.has_goal or any(goal for *_, goal in self.plan.listed)
        return StartsFigures.of(self.store.state).solvable if has_goal else NO_GOAL

    @property
    def capped(self) -> int | None:
        return sum(not row.exhausted for row in self.stored().values()) or None

    def tables(self) -> list[Table]:
        rows = list(self._told())
        for row in rows:
            row["searched"] = "all" if row["exhausted"] else "up to the cap"
        for row in (row for row in rows[:_SHOWN] if row["goal"]):
            row["goal"] = puzzle_from(self.puzzle, row["start"], row["goal"]).goal_text()
        shown = ["number", "name", "start", "goal", "moves", "configurations", "depth", "hardest_moves", "searched"]
        empty = {name for name in ("name", "goal") if not any(row[name] for row in rows)}
        empty |= {"searched"} if all(row["exhausted"] for row in rows) else set()
        told = [{name: row[name] for name in shown if name not in empty} for row in rows]
        return first_rows("starts", told, _SHOWN, "export writes all")

    def rows(self) -> Iterator[dict[str, Any]]:
        for row in self._told():
            del row["layers"]
            yield row | {"exhausted": int(row["exhausted"])}


def plain_figures(puzzle: Puzzle) -> tuple[list[int], int | None]:
    """Return the sizes of the layers from the start, and the fewest moves to a goal, by the plain rules."""
    layers = [*plain_layers(puzzle, puzzle.start)]
    goals = (depth for depth, layer in enumerate(layers) if puzzle.is_goal(puzzle.keys(sorted(layer))).any())
    return [*map(len, layers)], next(goals, None)


def _read(spec: PuzzleSpec) -> tuple[str, bool]:
    """Return the goal of a puzzle of a `Family` as a board, and whether it has one row, else nothing.

    Raises as `PuzzleSpec.build` does.
    """
    puzzle = spec.build()
    if not isinstance(puzzle, Family):
        return "", False
    return str(puzzle.parameters["goal"]), "/" not in puzzle.start_text()
