"""The commands ``study deals``, ``boards``, ``sizes``, ``starts``, ``cosets`` and ``hunt``."""

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from hakoiri.cli import options as shared
from hakoiri.cli.completing import puzzles_beginning
from hakoiri.cli.driving import Finish, Work, refuse_with_queue, start_run
from hakoiri.cli.options import argument, command_line, flag, option
from hakoiri.cli.studies.solving import GameArgument
from hakoiri.errors import PuzzleError
from hakoiri.puzzles.options import MOST_SEED
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from hakoiri.reading import parse_options, read_text
from hakoiri.render.progress import shown_progress
from hakoiri.render.tables import stderr
from hakoiri.storage.engine.files import naming, require_place, write_file
from hakoiri.storage.names import certificate_file

if TYPE_CHECKING:
    from hakoiri.coordinator.session.job import Job
    from hakoiri.coordinator.session.session import Control
    from hakoiri.coordinator.studies.hunt import HuntDeals
    from hakoiri.coordinator.studies.sizes import StudySizes

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
    options: shared.PuzzleOptions = None,
    csv: Annotated[Path | None, option("--csv", "FILE", "Write a row per component: .csv or .parquet.")] = None,
    queue: shared.QueueOption = False,
    *,
    work: Work,
) -> None:
    """Measure all boards made of given pieces.

    Reports components and exact diameters for every mix of the pieces. If interrupted, run the same command again to
    continue.
    """
    refuse_with_queue(queue, {"--csv": csv})
    spec = PuzzleSpec("sliding", parse_options(options or []))
    asked = {"size": size, "pieces": pieces, "empty": empty, "goal": goal, "pairs": pairs, "hardest": hardest}
    start_study("boards", spec, asked, work, queue, _writing(csv, "components"))


def start_study(
    kind: str, spec: PuzzleSpec, asked: dict[str, Any], work: Work, queue: bool, finish: Finish | None = None
) -> None:
    """Start or queue a run of a kind, with the arguments of its `Job.parse_request`."""
    from hakoiri.coordinator.runs.kinds import kind_of

    start_run(kind_of(kind).parse_request(spec, **asked), kind, work, queue=queue, finish=finish)


def _writing(csv: Path | None, noun: str = "") -> Finish:
    """Return the end of a study: its rows, counted with a `noun`, are written as a table of a known format."""
    if csv is not None and noun:
        from hakoiri.export.tables import check_ending

        check_ending(csv)

    def finish(job: "Job", _: "Control") -> dict[str, Any]:
        from hakoiri.export.tables import write_rows

        if csv is not None:
            count = write_rows(job.rows() or iter(()), csv)
            stderr().print(Text(f"{count:,} {noun} written to {csv}" if noun else f"written to {csv}"))
        return {}

    return finish


@command_line("study starts boards.txt -o axis=rows-and-columns -o metric=straight", words=2)
def starts(
    file: Annotated[str, argument("FILE", "A start per line, perhaps after its name; - for stdin.")],
    puzzle: Annotated[
        str,
        option("--puzzle", "PUZZLE", "Puzzle of the starts; FILE.py:NAME for your own.",
               autocompletion=puzzles_beginning),
    ] = "sliding",
    options: shared.PuzzleOptions = None,
    goal: shared.GoalOption = None,
    cap: Annotated[int, shared.cap_option("Give up a start after this many: 500k, 10M.")] = "1M",  # type: ignore[assignment]
    csv: Annotated[Path | None, option("--csv", "FILE", "Write a row per start: .csv or .parquet.")] = None,
    queue: shared.QueueOption = False,
    *,
    work: Work,
) -> None:  # fmt: skip
    """Search from every start of a file.

    Reports the fewest moves to the goal, what the start reaches, and the moves of the hardest configuration there.
    Lines such as "60 BOARD 2332" of collections of Rush Hour are read, too. Comments begin with a semicolon. If
    interrupted, run the same command again to continue.
    """
    refuse_with_queue(queue, {"--csv": csv})
    asked = {"starts": read_text(file), "cap": cap}
    start_study("starts", shared.spec_of(puzzle, options, None, goal), asked, work, queue, _writing(csv, "starts"))


@command_line("study cosets examples/definitions/corners.gap --cosets 12", words=2)
def cosets(
    puzzle: Annotated[str, shared.puzzle_argument("FILE of a definition: .tws, .json, .gap.")],
    options: shared.PuzzleOptions = None,
    cosets: Annotated[int | None, option("--cosets", "K", "Fill K cosets in total, not all.", min=1)] = None,
    depth: Annotated[
        int, option("--depth", "D", "Count up to depth D, and bound what is deeper. 0: as far as is quick.", min=0)
    ] = 0,
    seed: Annotated[int, shared.seed_option("the order of the cosets")] = 1,
    queue: shared.QueueOption = False,
    *,
    work: Work,
) -> None:
    """Count the positions of a group that is too large to list.

    Positions that agree in some coordinates, such as the twists of corners, are a coset. Each is filled by itself.
    Reports positions by depth of the cosets done, and proven bounds of God's number. Run the same command again to
    continue, with more --cosets to add to the study.
    """
    asked = {"cosets": cosets, "to_depth": depth, "seed": seed}
    start_study("cosets", shared.spec_of(puzzle, options, None), asked, work, queue)


@command_line("study sizes tiles --sizes 4..8", words=2)
def sizes(
    puzzle: Annotated[
        str,
        shared.puzzle_argument(
            "tiles, topspin, pancakes, burnt-pancakes, hanoi, or FILE.py:NAME for your own with sizes."
        ),
    ],
    sizes: Annotated[
        str, option("--sizes", "SIZES", "Cells of tiles, discs of hanoi, n of others: 3..10, 6 or 4,6,8.")
    ],
    options: shared.PuzzleOptions = None,
    b_files: Annotated[Path | None, option("--b-files", "DIR", "Write tables as OEIS b-files.")] = None,
    queue: shared.QueueOption = False,
    *,
    work: Work,
) -> None:
    """Explore a puzzle size by size.

    Reports layers, depth, diameter, radius and diametral pairs of each size. If interrupted, run the same command again
    to continue. Other --sizes add to the study.
    """
    spec = shared.spec_of(puzzle, options, None)
    refuse_with_queue(queue, {"--b-files": b_files})

    def finish(job: "StudySizes", _: "Control") -> dict[str, Any]:
        from hakoiri.coordinator.studies.sizes import b_files as tables_of

        if b_files is None:
            return {}
        files = tables_of(job.asked())
        with naming(b_files):
            b_files.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write_file(b_files / name, text)
        stderr().print(Text(f"{len(files)} tables written to {b_files}"))
        return {"b_files": sorted(files)}

    start_study("sizes", spec, {"sizes": shared.parse_sizes(sizes, 1, MOST_SIZE)}, work, queue, finish)


#: Options of the former command ``study PUZZLE``; ``--n`` belonged to studies of sizes.
_OLD_SIZES = re.compile(r"--(columns|ranks|n)(?==|$)")


class Studies(TyperGroup):
    """The kinds of study; a puzzle in their place is refused with the intended command."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command and its arguments; raise `PuzzleError` for ``study PUZZLE``."""
        name = args[0]
        if not ctx.resilient_parsing and name not in self.commands and (name in PUZZLES or ".py:" in name):
            kind = "sizes" if any(re.match("--n(=|$)", word) for word in args) else "deals"
            words = (_OLD_SIZES.sub("--sizes", each) for each in args[1:])
            command = shlex.join(["hakoiri", "study", kind, name, *words])
            raise PuzzleError(f"'study {name}' is not a command; use: {command}")
        return super().resolve_command(ctx, args)


GROUPS = {
    "study": typer.Typer(
        cls=Studies,
        help="Study many deals, all boards of some pieces, or many sizes.",
        epilog="Example: hakoiri study deals gap --sizes 3..6 --deals 100",
        no_args_is_help=True,
    )
}


@command_line("study deals superpuzz --sizes 4..6 --deals 1000 --seed 1", words=2)
def deals(
    puzzle: GameArgument,
    sizes: Annotated[str, option("--sizes", "SIZES", "Ranks of gap, columns of superpuzz: 4..8, 6 or 4,6,8.")],
    deals: Annotated[int, option("--deals", "N", "Number of deals of each size.", min=1, max=MOST_SEED)] = 1000,
    seed: Annotated[int, shared.seed_option("the random deals")] = 1,
    strategy: Annotated[str, option("--strategy", "bfs|dfs", "Search breadth first or depth first.")] = "bfs",
    cap: Annotated[int, shared.cap_option("Give up a deal after this many positions: 500k, 10M.")] = "10M",  # type: ignore[assignment]
    shorten: Annotated[
        bool, flag("--shorten", "Shorten each solution and compare it with a shortest one (superpuzz, dfs).")
    ] = False,
    csv: Annotated[Path | None, option("--csv", "FILE", "Write a row per deal.")] = None,
    plot: Annotated[Path | None, option("--plot", "FILE", "Draw the distributions: .png, .svg or .pdf.")] = None,
    queue: shared.QueueOption = False,
    *,
    work: Work,
) -> None:
    """Solve many random deals and report statistics.

    If interrupted, run the same command again to continue. More --deals or other --sizes add to the study. All searches
    share --memory: less memory means fewer threads.
    """
    from hakoiri.coordinator.studies.deals import StudyDeals
    from hakoiri.render.films import check_ending
    from hakoiri.render.plots import PLOTS

    spec = shared.own_spec(puzzle)
    allowed = StudyDeals.puzzle_kind(spec).sizes()
    asked = {"sizes": shared.parse_sizes(sizes, allowed.least, allowed.most), "deals": deals, "seed": seed}
    asked |= {"strategy": strategy, "cap": cap, "shorten": shorten}
    refuse_with_queue(queue, {"--csv": csv, "--plot": plot})
    # Checked before the work, so that hours of it do not end in a file that cannot be written.
    if plot is not None:
        check_ending(plot, PLOTS)
    if csv is not None:
        require_place(csv)
    written = _writing(csv)

    def finish(job: StudyDeals, control: "Control") -> dict[str, Any]:
        added = written(job, control)
        if plot is not None:
            from hakoiri.render.plots import plot_study

            plot_study(job, plot)
            stderr().print(Text(f"written to {plot}"))
        return added

    start_study("study", spec, asked, work, queue, finish)


@command_line("hunt gap -o ranks=7 --maximise positions --time 10m")
def hunt(
    puzzle: Annotated[
        str, shared.puzzle_argument("gap, sliding, or FILE.py:NAME for your own with deals that can be varied.")
    ],
    options: shared.PuzzleOptions = None,
    start: shared.FromOption = None,
    goal: shared.GoalOption = None,
    maximise: Annotated[str, option("--maximise", "positions|moves|depth", "Figure to maximise.")] = "positions",
    time: shared.TimeOption = "10m",  # type: ignore[assignment]
    seed: Annotated[int, shared.seed_option("the hunt")] = 1,
    legs: Annotated[
        int | None, option("--legs", "N", "Stop after N legs in total, not by time. Reproducible.", min=1)
    ] = None,
    cap: Annotated[int, shared.cap_option("Skip deals with more positions: 500k, 10M.")] = "10M",  # type: ignore[assignment]
    pool: Annotated[
        int, option("--pool", "N", "Number of deals followed at once. Raise it for more workers.", min=1, max=256)
    ] = 4,
    near: Annotated[bool, flag("--near", "Vary the board of --from itself, not random boards of its pieces.")] = False,
    certificate: Annotated[Path | None, option("--certificate", "FILE", "File for the certificate.")] = None,
    queue: shared.QueueOption = False,
    *,
    work: Work,
) -> None:
    """Look for the hardest deal by changing deals step by step.

    The hardest deal has the most positions, needs the most moves or goes deepest (--maximise). Run the same command
    again to continue. For gap, --from is the first deal. For sliding, --from gives the pieces, and all boards that
    moves connect count as one.
    """
    spec = shared.spec_of(puzzle, options, start, goal)
    asked = {"objective": maximise, "seed": seed, "cap": cap, "pool": pool, "near": near}
    asked |= {"seconds": time, "legs": legs}
    refuse_with_queue(queue, {"--certificate": certificate})
    if certificate is not None and spec.digest:
        raise PuzzleError(f"{spec.name} is not a built-in puzzle, so it has no certificate; leave out --certificate")
    if certificate is not None:
        require_place(certificate)

    def finish(job: "HuntDeals", control: "Control") -> dict[str, Any]:
        target = None if spec.digest else certificate or certificate_file(job.store.directory)
        from hakoiri.coordinator.runs.certificate import certify, write_certificate
        from hakoiri.coordinator.session.resources import Resources

        best = job.best
        if best is None:
            stderr().print("no record found yet; give more --time, or a greater --cap")
        if best is None or target is None:
            return {"certificate": None}
        with shown_progress(stderr()) as progress:
            made = certify(job.deal_spec(best), best.figures, Resources(memory=work.memory), control, progress)
            write_certificate(made, target)
        stderr().print(Text(f"verify it with: hakoiri verify {shlex.quote(str(target))}"), style="dim")
        return {"certificate": str(target)}

    start_study("hunt", spec, asked, work, queue, finish)
