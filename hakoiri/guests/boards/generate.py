"""Generators of boards: boards of a given difficulty from the spaces of random ones, a batch a row."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from itertools import count, takewhile
from typing import Any, TypedDict

from hakoiri.coordinator.session.check import Check
from hakoiri.coordinator.session.job import Request, Table
from hakoiri.coordinator.session.resources import Budget, Resources
from hakoiri.coordinator.session.session import Observer
from hakoiri.errors import Hint, PuzzleError, require_within
from hakoiri.guests.boards import kind as kinds
from hakoiri.guests.boards.designing import DesignRequest, SolvedSpace, WantedBoards, statistics
from hakoiri.guests.boards.mixes import Boards, goal_of
from hakoiri.guests.deals.dealt import Family
from hakoiri.guests.study import Study, fit_threads, require_version
from hakoiri.keys.splitmix import random_words
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.ledger.manifest import Figures, Progress
from hakoiri.storage.results import ResultRows
from hakoiri.worker.layers.kernels import plain_layers

BATCH, HUNTED = "batch", "hunted"
#: Random boards per batch; bytes per configuration of a space.
_COUNT, _BYTES = 64, 400
#: The boards that are searched again without ``--full``, and those shown.
_SAMPLE, _SHOWN = 4, 12
_MOST_CAP = 10_000_000
#: Positions that a hunt from one board may search: it is one task, and a stop waits for its end.
_MOST_HUNTED = 20_000_000
#: Increase it when other boards are found than before.
_VERSION = 2
#: Numbers of pieces were not fitted to the board.
_UNFITTED = 1


@dataclass(frozen=True)
class GeneratePlan(kinds.BoardsKind):
    """The parameters, with a goal, and `least` and `most` moves."""

    generate_version: int = _VERSION

    def check(self, puzzle: Family) -> None:
        self.first()
        if puzzle.names_pieces:
            raise PuzzleError("the boards are random, so no option can name their pieces by letters")

    def first(self) -> str:
        """Return a board of the pieces; `PuzzleError` for an invalid plan."""
        require_version(self.generate_version, "generators", _UNFITTED, _VERSION)
        boards = Boards.parse(self.size, self.pieces, self.empty)
        pieces, board = boards.random(random_words(self.seed << 32), self.generate_version > _UNFITTED)
        goal_of(boards.size, pieces, self.goal)
        if not board:
            raise PuzzleError(
                f"no board of {self.size} with pieces {self.pieces} and {self.empty} empty cells was found",
                Hint("change", "empty"),
            )
        return board

    def asked(self, batch: int) -> DesignRequest:
        """Return the workers' task for a batch."""
        wanted = {each.name: getattr(self, each.name) for each in fields(WantedBoards)}
        return DesignRequest(**wanted, first=batch * _COUNT, count=_COUNT, fitted=self.generate_version > _UNFITTED)

    def hunted(self, row: Mapping[str, Any]) -> DesignRequest:
        """Return the workers' task to look for a harder board than one found."""
        one = replace(self, least=row["moves"], each=1).asked(0)
        return replace(one, first=row["number"], count=self.hunt, board=row["board"])


@dataclass(frozen=True)
class GenerateFigures(Figures):
    """The number of boards found, and of random or varied boards whose spaces were searched for them."""

    boards: int = 0
    tried: int = 0


class _Batch(TypedDict):
    boards: list[dict[str, Any]]


class GenerateBoards(Study[GeneratePlan, list[dict[str, Any]]]):
    """Finds boards of a given difficulty, up to a number of them, or until its time is over."""

    plan_class, figures, table = GeneratePlan, GenerateFigures, BATCH
    row_noun = "boards"
    remedy = "searching the batch again"
    facts = ("goal", "boards", "boards tried: tried")
    parameters = kinds.BoardsKind
    puzzle: Family

    @classmethod
    def request(cls, spec: PuzzleSpec, asked: kinds.BoardsKind) -> Request:
        cls.puzzle_kind(spec)
        least, most = asked.bounds()
        require_within("cap", asked.cap, 1, _MOST_CAP)
        require_within("hunt", asked.hunt, 0, _MOST_HUNTED // asked.cap)
        require_within("least moves", least, 1, kinds.MOST_MOVES)
        require_within("most moves", most, least, kinds.MOST_MOVES)
        if spec.options.get("goal"):
            raise PuzzleError("the goal of the generator and option goal cannot be combined")
        pieces, empty = " ".join(asked.pieces.split()), asked.empty.strip()
        goal = asked.goal or _usual_goal(Boards.parse(asked.size, pieces, empty), bool(spec.options.get("axis")))
        wanted = {"pieces": pieces, "empty": empty, "goal": goal, "least": least, "most": most}
        plan = GeneratePlan(**vars(asked) | wanted)
        return super().request(replace(spec, start=plan.first()), plan)

    @property
    def _number(self) -> int:
        """The number of boards to find."""
        return int(self.limits["boards"])

    def limit_resources(self, resources: Resources, observer: Observer) -> Resources:
        return fit_threads(resources, _BYTES * self.plan.cap, "", observer, Hint("lower", "cap"))

    def is_done(self) -> bool:
        self.begin()
        return self._enough() and not any(self._unhunted())

    def stored(self, table: str = BATCH) -> dict[int, list[dict[str, Any]]]:
        return {number: batch["boards"] for number, batch in ResultRows(self.store, table).all(_Batch).items()}

    def begin(self) -> None:
        self.known, self._hunted = self.stored(), self.stored(HUNTED)

    def make_rows(self) -> None:
        self._make(BATCH, self.known, self._untried())
        self._make(HUNTED, self._hunted, self._unhunted())

    def _make(
        self, table: str, known: dict[int, list[dict[str, Any]]], asked: Iterator[tuple[int, DesignRequest]]
    ) -> None:
        """Search and keep the rows of numbered requests, while there is time."""
        in_time = takewhile(lambda _: self.session.seconds < self.limits["seconds"], asked)
        for number, found in self.answers("design", list[dict[str, Any]], in_time):
            ResultRows(self.store, table).stage(number, {"boards": found})
            known[number] = found
            headline = f"{len(known)} of {self._number} varied" if table == HUNTED else ""
            self.tell(Progress(self.tally(self.known).boards, self._number, "boards", headline))

    def _untried(self) -> Iterator[tuple[int, DesignRequest]]:
        """Yield the batches that are missing, until there are enough boards."""
        for batch in takewhile(lambda _: not self._enough(), count()):
            if batch not in self.known:
                yield batch, self.plan.asked(batch)

    def _unhunted(self) -> Iterator[tuple[int, DesignRequest]]:
        """Yield the boards that are still to be varied, by their place among those found."""
        for place, row in enumerate(self._wanted(self.known) if self.plan.hunt else ()):
            if place not in self._hunted:
                yield place, self.plan.hunted(row)

    def tally(self, rows: Mapping[int, list[dict[str, Any]]]) -> GenerateFigures:
        tried = _COUNT * len(rows) + self.plan.hunt * len(self._hunted)
        return GenerateFigures(len(self._wanted(rows)), tried)

    def _enough(self) -> bool:
        return len(self._wanted(self.known)) >= self._number

    def _wanted(self, batches: Mapping[int, list[dict[str, Any]]]) -> list[dict[str, Any]]:
        """Return the first boards, none of them an image of another, of the batches without a gap.

        They are the same for any number of threads.
        """
        found: dict[str, dict[str, Any]] = {}
        for batch in takewhile(lambda batch: batch in batches and len(found) < self._number, count()):
            for row in batches[batch]:
                found.setdefault(row["image"], row)
        return list(found.values())[: self._number]

    def boards(self) -> list[dict[str, Any]]:
        """Return the boards found, the hardest first: by moves, then by the mean share of good moves.

        The hardest variation that is not an image of another takes the place of a board.
        """
        hunted, found = self.stored(HUNTED), self._wanted(self.stored())
        images = {row["image"] for row in found}
        for place, row in enumerate(found):
            free = (harder for harder in hunted.get(place, []) if harder["image"] not in images)
            found[place] = next(free, row)
            images.add(found[place]["image"])
        return sorted(found, key=lambda row: (-row["moves"], sum(row["good"]) / row["moves"], row["number"]))

    def verify(self, check: Check) -> None:
        """Search boards again by the rules in plain Python, without `full` a sample."""
        rows = self.boards()
        for row in check.some(rows, _SAMPLE, "boards searched again"):
            self._derive(row, check)
        if len(rows) != (said := GenerateFigures.of(self.store.state).boards):
            check.report.fault(f"{len(rows):,} boards are stored, but {said:,} according to the state")

    def _derive(self, row: Mapping[str, Any], check: Check) -> None:
        check.report.count("boards")
        puzzle, plan = self.puzzle.member(row["board"], row["goal"]), self.plan
        moves, solutions = reference_solutions(puzzle)
        if (moves, solutions) != (row["moves"], row["solutions"]):
            said = f"{row['solutions']:,} solutions of {row['moves']} moves"
            check.report.fault(f"{row['board']} has {solutions:,} solutions of {moves} moves, not {said}")
        if not plan.least <= moves <= plan.most or (plan.unique and solutions != 1):
            check.report.fault(f"{row['board']} is not what the run looks for")
        space = SolvedSpace.of(puzzle, puzzle.start, plan.cap + 1)
        found = space and asdict(statistics(space, space.place(puzzle.start), row["board"]))
        if not found or not found.items() <= row.items():
            check.report.fault(f"{row['board']} has other figures than those stored")

    def summary(self, budget: Budget) -> dict[str, Any]:
        return {"rows": self.boards()}

    def tables(self) -> list[Table]:
        rows = [{"rank": rank, **_told(row)} for rank, row in enumerate(self.boards()[:_SHOWN], 1)]
        left = GenerateFigures.of(self.store.state).boards - len(rows)
        return [Table("boards", rows, rest=f"{left:,} more; export writes all" if left > 0 else "")] if rows else []

    def rows(self) -> Iterator[dict[str, Any]]:
        return map(_told, self.boards())


def _usual_goal(boards: Boards, bound: bool) -> str:
    """Return the usual goal of the first piece: the middle of the lower edge; for `bound` pieces of the right one."""
    (form, *_), size = boards.pieces[0], boards.size
    across, down = size.width - form.extent.width, size.height - form.extent.height
    row, column = (down // 2, across) if bound else (down, across // 2)
    return f"{form}@{row + 1},{column + 1}"


def _told(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a board as a row of a table, without the shares of each step."""
    return {name: value for name, value in row.items() if name not in ("number", "image", "good", "goal")}


def reference_solutions(puzzle: Puzzle) -> tuple[int, int]:
    """Return the fewest moves to a goal and how many solutions have so many, by plain rules; ``(-1, 0)`` for none."""
    for moves, ways in enumerate(plain_layers(puzzle, puzzle.start)):
        if goals := [key for key in ways if puzzle.is_goal(puzzle.keys([key]))[0]]:
            return moves, sum(ways[key] for key in goals)
    return -1, 0
