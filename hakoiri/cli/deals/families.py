"""The commands ``study boards``, ``sizes`` and ``starts``: boards of given pieces, size after size, lists of starts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.text import Text

from hakoiri.cli.commands import argument, command_line, flag, option
from hakoiri.cli.completing import puzzles_beginning
from hakoiri.cli.driving import refuse_with_queue, start_run
from hakoiri.cli.groups import Work
from hakoiri.cli.options import (
    GoalOption,
    PuzzleOptions,
    QueueOption,
    parse_count,
    parse_sizes,
    puzzle_argument,
    spec_of,
)
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.reading import parse_options, read_text
from hakoiri.render.tables import stderr

if TYPE_CHECKING:
    from hakoiri.coordinator.session.job import Job
    from hakoiri.coordinator.session.session import Control

#: The greatest size of any puzzle; each puzzle checks its own sizes.
MOST_SIZE = 64


@command_line('study boards --size 4x5 --pieces "2x2:1 2x1:* 1x2:* 1x1:*" --empty 2..', words=2)
def boards(
    size: Annotated[str, option("--size", "CxR", "Columns x rows: 4x5; or rows with walls: ...#/....")],
    pieces: Annotated[
        str,
        option(
            "--pieces", "PIECES", 'WIDTHxHEIGHT:COUNT or a drawing of each, * for any count: "2x2:1 2x1:* xx/x.:1..2".'
        ),
    ],
    empty: Annotated[str, option("--empty", "N", "Number of empty cells: 2, 2.. or 2..4.")] = "2",
    goal: Annotated[str, option("--goal", "PIECE@R,C", "Report the start farthest from this goal: 2x2@4,2.")] = "",
    pairs: Annotated[bool, flag("--pairs", "Count all diametral pairs.")] = False,
    hardest: Annotated[
        int, option("--hardest", "K", "With --goal, draw the K hardest starts of all, up to symmetry.", min=0, max=100)
    ] = 0,
    options: PuzzleOptions = None,
    csv: Annotated[Path | None, option("--csv", "FILE", "Write a row per component: .csv or .parquet.")] = None,
    queue: QueueOption = False,
    *,
    work: Work,
) -> None:
    """Measure all boards made of given pieces.

    Reports components and exact diameters for every mix of the pieces. If interrupted, run the same command again to
    continue.
    """
    from hakoiri.coordinator.families.boards import StudyBoards
    from hakoiri.export.rows import check_ending

    refuse_with_queue(queue, {"--csv": csv})
    if csv is not None:
        check_ending(csv)
    spec = PuzzleSpec("sliding", parse_options(options or []))
    asked = StudyBoards.parse_request(
        spec, size=size, pieces=pieces, empty=empty, goal=goal, pairs=pairs, hardest=hardest
    )

    def finish(job: StudyBoards, _: "Control") -> dict[str, Any]:
        return _write(job, csv, "components")

    start_run(asked, "boards", work, queue=queue, finish=finish)


def _write(job: "Job", table: Path | None, rows: str) -> dict[str, Any]:
    from hakoiri.export.rows import write_rows

    if table is not None:
        count = write_rows(job.rows() or iter(()), table)
        stderr().print(Text(f"{count:,} {rows} written to {table}"))
    return {}


@command_line("study starts boards.txt -o axis=rows-and-columns -o metric=straight", words=2)
def starts(
    file: Annotated[str, argument("FILE", "A start per line, perhaps after its name; - for stdin.")],
    puzzle: Annotated[
        str,
        option("--puzzle", "PUZZLE", "Puzzle of the starts; FILE.py:NAME for your own.",
               autocompletion=puzzles_beginning),
    ] = "sliding",
    options: PuzzleOptions = None,
    goal: GoalOption = None,
    cap: Annotated[
        int, option("--cap", "POSITIONS", "Give up a start after this many: 500k, 10M.", parser=parse_count)
    ] = "1M",  # type: ignore[assignment]
    csv: Annotated[Path | None, option("--csv", "FILE", "Write a row per start: .csv or .parquet.")] = None,
    queue: QueueOption = False,
    *,
    work: Work,
) -> None:  # fmt: skip
    """Search from every start of a file.

    Reports the fewest moves to the goal, what the start reaches, and the moves of the hardest configuration there.
    Lines such as "60 BOARD 2332" of collections of Rush Hour are read, too. Comments begin with a semicolon. If
    interrupted, run the same command again to continue.
    """
    from hakoiri.coordinator.families.starts import StudyStarts
    from hakoiri.export.rows import check_ending

    refuse_with_queue(queue, {"--csv": csv})
    if csv is not None:
        check_ending(csv)
    asked = StudyStarts.parse_request(spec_of(puzzle, options, None, goal), starts=read_text(file), cap=cap)

    def finish(job: StudyStarts, _: "Control") -> dict[str, Any]:
        return _write(job, csv, "starts")

    start_run(asked, "starts", work, queue=queue, finish=finish)


@command_line("study sizes tiles --sizes 4..8", words=2)
def sizes(
    puzzle: Annotated[
        str,
        puzzle_argument("tiles, topspin, pancakes, burnt-pancakes, hanoi, or FILE.py:NAME for your own with sizes."),
    ],
    sizes: Annotated[
        str, option("--sizes", "SIZES", "Cells of tiles, discs of hanoi, n of others: 3..10, 6 or 4,6,8.")
    ],
    options: PuzzleOptions = None,
    b_files: Annotated[Path | None, option("--b-files", "DIR", "Write tables as OEIS b-files.")] = None,
    queue: QueueOption = False,
    *,
    work: Work,
) -> None:
    """Explore a puzzle size by size.

    Reports layers, depth, diameter, radius and diametral pairs of each size. If interrupted, run the same command again
    to continue. Other --sizes add to the study.
    """
    from hakoiri.coordinator.families.sizes import StudySizes
    from hakoiri.coordinator.families.sizes import b_files as tables_of
    from hakoiri.storage.engine.files import naming, write_file

    spec = spec_of(puzzle, options, None)
    refuse_with_queue(queue, {"--b-files": b_files})
    asked = StudySizes.parse_request(spec, sizes=parse_sizes(sizes, 1, MOST_SIZE))

    def finish(job: StudySizes, _: "Control") -> dict[str, Any]:
        if b_files is None:
            return {}
        files = tables_of(job.asked())
        with naming(b_files):
            b_files.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write_file(b_files / name, text)
        stderr().print(Text(f"{len(files)} tables written to {b_files}"))
        return {"b_files": sorted(files)}

    start_run(asked, "sizes", work, queue=queue, finish=finish)
