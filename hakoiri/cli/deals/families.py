"""``study boards`` and ``study NAME --n``: all boards of some pieces; a puzzle for one size after another."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from hakoiri.cli.driving import refuse_with_queue, start_run
from hakoiri.cli.options import parse_options
from hakoiri.puzzles.errors import PuzzleError
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.render.tables import stderr

if TYPE_CHECKING:
    from hakoiri.coordinator.session.job import Job
    from hakoiri.coordinator.session.resources import Resources
    from hakoiri.coordinator.session.session import Control

#: What stands for a puzzle.
BOARDS = "boards"
#: Of any puzzle; each knows which sizes it has.
MOST_SIZE = 64
_EXAMPLE = 'hakoiri study boards --size 4x5 --pieces "2x2:1 2x1:* 1x2:* 1x1:*" --empty 2..'


def study_boards(
    options: list[str] | None, size: str | None, pieces: str | None, empty: str, goal: str, pairs: bool,
    table: Path | None, queue: bool, data: Path | None, resources: "Resources", json: bool,
) -> None:  # fmt: skip
    """Make the run and drive it, or queue it; write its components into `table`."""
    from hakoiri.coordinator.families.boards import StudyBoards
    from hakoiri.export.rows import check_ending

    if size is None or pieces is None:
        raise PuzzleError(f"which boards? say {_EXAMPLE}")
    refuse_with_queue(queue, {"--csv": table})
    if table is not None:
        check_ending(table)
    spec = PuzzleSpec("sliding", parse_options(options or []))
    asked = StudyBoards.requested(spec, size=size, pieces=pieces, empty=empty, goal=goal, pairs=pairs)

    def finish(job: StudyBoards, _: "Control") -> dict[str, Any]:
        return _write(job, table)

    start_run(asked.spec, "boards", asked.plan, resources, data, json, queue=queue, finish=finish)


def _write(job: "Job", table: Path | None) -> dict[str, Any]:
    """The file that was asked for."""
    from hakoiri.export.rows import write_rows

    if table is not None:
        count = write_rows(job.rows() or iter(()), table)
        stderr().print(Text(f"{count:,} components written into {table}"))
    return {}


def study_sizes(
    spec: PuzzleSpec, sizes: tuple[int, ...], folder: Path | None, queue: bool, data: Path | None,
    resources: "Resources", json: bool,
) -> None:  # fmt: skip
    """Make the run of a puzzle's sizes and drive it, or queue it; write tables in the form of b-files into `folder`."""
    from hakoiri.coordinator.families.sizes import StudySizes, b_files
    from hakoiri.storage.engine.files import naming, write_file

    refuse_with_queue(queue, {"--b-files": folder})
    asked = StudySizes.requested(spec, sizes=sizes)

    def finish(job: StudySizes, _: "Control") -> dict[str, Any]:
        if folder is None:
            return {}
        files = b_files(job.asked())
        with naming(folder):
            folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write_file(folder / name, text)
        stderr().print(Text(f"{len(files)} tables written into {folder}"))
        return {"b_files": sorted(files)}

    start_run(asked.spec, "sizes", asked.plan, resources, data, json, queue=queue, limits=asked.limits, finish=finish)
