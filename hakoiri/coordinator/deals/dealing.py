"""Deals from texts and files, and the number of deal searches that fit the memory at the same time."""

from collections.abc import Iterator

from hakoiri.coordinator.errors import OverBudgetError
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.rows import fit_threads
from hakoiri.coordinator.session.session import Observer
from hakoiri.puzzles.capabilities import Dealt
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.errors import ConfigurationError, Hint, PuzzleError, counted
from hakoiri.puzzles.registry import PuzzleSpec, names_of, puzzle_class
from hakoiri.worker.tasks import SOLVERS

#: Begins a comment in a file of deals.
COMMENT = ";"


def has_sizes(kind: type[Puzzle]) -> bool:
    """Return whether a puzzle has deals of several sizes; otherwise the start determines their pieces."""
    return issubclass(kind, Dealt) and bool(kind.size_option)


def dealt(spec: PuzzleSpec) -> Dealt:
    """Return the puzzle; `PuzzleError` for one that has no deals."""
    puzzle = spec.build() if has_sizes(puzzle_class(spec.name, spec.digest)) else None
    if not isinstance(puzzle, Dealt):
        raise PuzzleError(f"{spec.name} has no deals; puzzles with deals: {names_of(has_sizes)}")
    if "goal" in puzzle.parameters and puzzle.solver != "layers":
        raise PuzzleError(
            f"{puzzle.name} is always solved to its own goal; a run can have another", Hint("run", puzzle.name)
        )
    return puzzle


def deals_of(puzzle: Dealt, text: str) -> Iterator[str]:
    """Yield the deals of a text: one per line, its rows joined by ``/``, or on as many lines as a deal has rows.

    A first line with their number is optional, as are blank lines and comments. `ConfigurationError` names the invalid
    deal, its row and its card.
    """
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith(COMMENT)]
    rows, announced = puzzle.rows_of_deal, None
    # A deal may itself consist of digits, too.
    if lines and lines[0].isdigit() and (rows > 1 or int(lines[0]) == len(lines) - 1):
        announced = int(lines.pop(0))
    texts = _deal_texts(lines, rows)
    if announced is not None and announced != len(texts):
        raise ConfigurationError(f"the first line announces {counted(announced, 'deals')}, found {len(texts):,}")
    if not texts:
        raise ConfigurationError(f"no deal in {text[:40]!r}")
    for number, each in enumerate(texts, 1):
        try:
            yield puzzle.tidy_deal(each)
        except ConfigurationError as error:
            where = f"deal {number}: " if len(texts) > 1 else ""
            raise ConfigurationError(f"{where}{error}", *error.hints) from None


def _deal_texts(lines: list[str], rows: int) -> list[str]:
    if any("/" in line for line in lines):
        return lines
    if len(lines) % rows:
        raise ConfigurationError(f"deal {len(lines) // rows + 1} has {len(lines) % rows} rows, expected {rows}")
    return ["/".join(lines[begin : begin + rows]) for begin in range(0, len(lines), rows)]


def limit_threads(puzzle: Dealt, cap: int, resources: Resources, observer: Observer) -> Resources:
    """Return `resources` with only as many threads as fit the memory if all searches reach the cap.

    Raises `OverBudgetError` if the given memory does not allow a single one.
    """
    memory, needed = resources.memory, SOLVERS[puzzle.solver].bytes_of_search(puzzle, cap)
    if resources.redis is None and memory is not None and needed > memory:
        raise OverBudgetError(
            f"a search of {cap:,} positions may need {needed >> 20:,} MB, above the limit of {memory >> 20:,} MB",
            Hint("lower", "cap"),
            Hint("give", "memory", f"{(needed >> 20) + 1}MB"),
        )
    less = Hint("lower", "cap"), Hint("raise", "memory")
    return fit_threads(resources, needed, f" for {cap:,} positions", observer, *less)
