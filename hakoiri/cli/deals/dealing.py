"""``study`` and ``hunt``: many random deals and what they have in common, and the hardest ones that can be found."""

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from hakoiri.cli.completing import puzzles_beginning
from hakoiri.cli.deals.families import BOARDS, MOST_SIZE, study_boards, study_sizes
from hakoiri.cli.driving import refuse_with_queue, start_run
from hakoiri.cli.options import (
    DataOption,
    FromOption,
    GoalOption,
    JsonOption,
    MemoryOption,
    PuzzleOptions,
    QueueOption,
    RedisOption,
    WorkersOption,
    parse_count,
    parse_memory,
    parse_time,
    redis_url,
    spec_of,
)
from hakoiri.puzzles.errors import PuzzleError
from hakoiri.puzzles.keys.seeds import MOST_SEED
from hakoiri.render.tables import stderr

if TYPE_CHECKING:
    from hakoiri.coordinator.deals.hunt import HuntDeals
    from hakoiri.coordinator.deals.study import StudyDeals
    from hakoiri.coordinator.session.session import Control
    from hakoiri.puzzles.capabilities import Dealt


def parse_sizes(text: str, option: str, least: int, most: int) -> tuple[int, ...]:
    """The sizes of ``4..8``, ``6`` or ``4,6,8``, each once, in increasing order; `PuzzleError` for others."""
    sizes: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,9})\s*(?:\.\.\s*(\d{1,9})\s*)?", part)
        if not match:
            raise PuzzleError(f"{option} {text}: sizes are written 4..8, 6 or 4,6,8")
        first, last = int(match[1]), int(match[2] or match[1])
        if first > last:
            raise PuzzleError(f"{option} {text}: {first} is more than {last}; write {last}..{first}")
        if first < least or last > most:
            raise PuzzleError(f"{option} {text}: allowed are {least}..{most}")
        sizes |= set(range(first, last + 1))
    return tuple(sorted(sizes))


def study(
    puzzle: Annotated[
        str,
        typer.Argument(
            metavar="PUZZLE",
            autocompletion=puzzles_beginning,
            help="superpuzz, gap, FILE.py:NAME for a puzzle of yours that has deals, or boards.",
        ),
    ],
    options: PuzzleOptions = None,
    size: Annotated[str | None, typer.Option("--size", metavar="CxR", help="Of boards: columns x rows, 4x5.")] = None,
    pieces: Annotated[
        str | None,
        typer.Option("--pieces", metavar="PIECES", help='Of boards: "2x2:1 2x1:*", width x height : how many.'),
    ] = None,
    empty: Annotated[
        str, typer.Option("--empty", metavar="N", help="Of boards: cells left empty: 2, 2.. or 2..4.")
    ] = "2",
    goal: Annotated[
        str, typer.Option("--goal", metavar="PIECE@R,C", help="Of boards: how far is the hardest from 2x2@4,2?")
    ] = "",
    n: Annotated[
        str | None,
        typer.Option("--n", metavar="SIZES", help="Of tiles (cells), topspin, pancakes, burnt-pancakes, hanoi: 3..10."),
    ] = None,
    b_files: Annotated[
        Path | None, typer.Option("--b-files", metavar="DIR", help="With --n: tables in the form of OEIS b-files.")
    ] = None,
    pairs: Annotated[bool, typer.Option("--pairs", help="Of boards: count all diametral pairs, too.")] = False,
    columns: Annotated[
        str | None, typer.Option("--columns", metavar="SIZES", help="Of superpuzz: 4..8, 6 or 4,6,8.")
    ] = None,
    ranks: Annotated[str | None, typer.Option("--ranks", metavar="SIZES", help="Of gap: 3..13, 7 or 3,7,13.")] = None,
    other_sizes: Annotated[
        str | None, typer.Option("--sizes", metavar="SIZES", help="Of any puzzle: 3..5, 4 or 3,5.")
    ] = None,
    deals: Annotated[
        int, typer.Option("--deals", min=1, max=MOST_SEED, metavar="N", help="Deals of each size.")
    ] = 1000,
    seed: Annotated[int, typer.Option("--seed", min=0, max=MOST_SEED, metavar="S", help="Which deals.")] = 1,
    strategy: Annotated[str, typer.Option("--strategy", metavar="bfs|dfs", help="Breadth or depth first.")] = "bfs",
    cap: Annotated[
        int,
        typer.Option(
            "--cap",
            parser=parse_count,
            metavar="POSITIONS",
            help="A deal that takes more is left unsettled: 500k, 10M.",
        ),
    ] = "10M",  # type: ignore[assignment]
    shorten: Annotated[
        bool, typer.Option("--shorten", help="Of superpuzz dfs: shorten each solution, compare it with a shortest one.")
    ] = False,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write a row per deal.")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw it: .png, .svg or .pdf.")] = None,
    queue: QueueOption = False,
    data: DataOption = None,
    redis: RedisOption = None,
    workers: WorkersOption = None,
    memory: Annotated[
        int | None,
        typer.Option(
            "--memory", parser=parse_memory, metavar="SIZE", help="For all searches at once; with less, fewer threads."
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Solve many random deals and tell moves, shares and positions. Stopped, the same command goes on.

    Of boards: every mix of some pieces on a board, its whole space, all components and their exact diameters.

    With --n: layers, depth, diameter, radius and diametral pairs of a puzzle for one size after another.
    """
    from hakoiri.coordinator.deals.study import StudyDeals
    from hakoiri.coordinator.deals.study_plan import dealt_class
    from hakoiri.coordinator.session.resources import Resources
    from hakoiri.puzzles.registry import PuzzleSpec, with_own_file
    from hakoiri.render.pictures.files import check_ending
    from hakoiri.render.plots import PLOTS
    from hakoiri.storage.engine.files import require_place

    if puzzle == BOARDS:
        resources = Resources(redis_url(redis), workers, memory)
        study_boards(options, size, pieces, empty, goal, pairs, csv, queue, data, resources, json)
        return
    if n is not None:
        spec, resources = spec_of(puzzle, options, None, None), Resources(redis_url(redis), workers, memory)
        study_sizes(spec, parse_sizes(n, "--n", 1, MOST_SIZE), b_files, queue, data, resources, json)
        return
    spec = with_own_file(PuzzleSpec(puzzle))
    kind = dealt_class(spec.name, spec.digest)
    text = _sizes_text(kind, {"--columns": columns, "--ranks": ranks, "--sizes": other_sizes})
    sizes = parse_sizes(text, f"--{kind.size_option}", kind.sizes().least, kind.sizes().most)
    asked = StudyDeals.requested(
        spec, sizes=sizes, deals=deals, seed=seed, strategy=strategy, cap=cap, shorten=shorten,  # type: ignore[arg-type]
    )  # fmt: skip
    refuse_with_queue(queue, {"--csv": csv, "--plot": plot})
    # Before the work: hours of it should not end in a name that cannot be written.
    if plot is not None:
        check_ending(plot, PLOTS)
    if csv is not None:
        require_place(csv)
    resources = Resources(redis_url(redis), workers, memory)

    def finish(job: StudyDeals, _: "Control") -> dict[str, Any]:
        return _write(job, csv, plot)

    start_run(spec, "study", asked.plan, resources, data, json, queue=queue, limits=asked.limits, finish=finish)


def _sizes_text(kind: "type[Dealt]", given: dict[str, str | None]) -> str:
    """What the user gave as sizes; `PuzzleError` where he gave none, or those of another puzzle."""
    wanted = f"--{kind.size_option}" if f"--{kind.size_option}" in given else "--sizes"
    example = f"{wanted} {kind.sizes().usual - 2}..{kind.sizes().usual}"
    texts = [text for name, text in given.items() if text is not None]
    for name in (name for name, text in given.items() if text is not None and name not in (wanted, "--sizes")):
        raise PuzzleError(f"{kind.name} has no {name}; its sizes are given by {wanted}, e.g. {example}")
    if len(texts) != 1:
        raise PuzzleError(f"which sizes? say {wanted}, e.g. {example}")
    return texts[0]


def _write(job: "StudyDeals", csv: Path | None, plot: Path | None) -> dict[str, Any]:
    """The files that were asked for."""
    from hakoiri.coordinator.deals.study import kept_deals

    study = job.study
    found = kept_deals(study, job.store)
    if csv is not None:
        from hakoiri.coordinator.deals.study_table import write_csv

        puzzles = {size: study.puzzle.sized(size) for size in study.sizes}
        texts = (
            (deal, puzzles[size].random_deal(study.plan.seed, deal.number))
            for size, deals in found.items()
            for deal in deals
        )
        write_csv(texts, study.conventions, csv)
        stderr().print(Text(f"written into {csv}"))
    if plot is not None:
        from hakoiri.render.study_plot import plot_study

        plot_study(study, found, plot)
        stderr().print(Text(f"drawn into {plot}"))
    return {}


def hunt(
    puzzle: Annotated[
        str,
        typer.Argument(
            metavar="PUZZLE",
            autocompletion=puzzles_beginning,
            help="gap, sliding, or FILE.py:NAME for a puzzle of yours whose deals can be varied.",
        ),
    ],
    options: PuzzleOptions = None,
    start: FromOption = None,
    goal: GoalOption = None,
    maximise: Annotated[
        str, typer.Option("--maximise", metavar="positions|moves|depth", help="What makes a deal hard.")
    ] = "positions",
    time: Annotated[
        float, typer.Option("--time", parser=parse_time, metavar="TIME", help="Of this call: 10m, 90s or 1h.")
    ] = "10m",  # type: ignore[assignment]
    seed: Annotated[int, typer.Option("--seed", min=0, max=MOST_SEED, metavar="S", help="Which hunt.")] = 1,
    legs: Annotated[
        int | None,
        typer.Option("--legs", min=1, metavar="N", help="Stop after N legs in all, not by the clock: reproducible."),
    ] = None,
    cap: Annotated[
        int, typer.Option("--cap", parser=parse_count, metavar="POSITIONS", help="Deals with more are passed over.")
    ] = "10M",  # type: ignore[assignment]
    pool: Annotated[
        int, typer.Option("--pool", min=1, max=256, metavar="N", help="Deals followed at once; for more workers, more.")
    ] = 4,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", metavar="FILE", help="Write it here; else beside the run.")
    ] = None,
    queue: QueueOption = False,
    data: DataOption = None,
    redis: RedisOption = None,
    workers: WorkersOption = None,
    memory: MemoryOption = None,
    json: JsonOption = False,
) -> None:
    """Hunt for the deal that leads to most positions, needs most moves or goes deepest. The same command goes on.

    With --from a deal of gap: for a harder one than that, from there.

    Of sliding blocks: for the hardest board of the pieces of a board. Whatever moves lead to is judged together.
    """
    from hakoiri.coordinator.deals.hunt import HuntDeals
    from hakoiri.coordinator.session.resources import Resources
    from hakoiri.storage.engine.files import require_place
    from hakoiri.storage.names import certificate_file

    spec = spec_of(puzzle, options, start, goal)
    asked = HuntDeals.requested(
        spec, objective=maximise, seed=seed, cap=cap, pool=pool, seconds=time, legs=legs,  # type: ignore[arg-type]
    )  # fmt: skip
    refuse_with_queue(queue, {"--certificate": certificate})
    if certificate is not None and spec.digest:
        raise PuzzleError(f"{spec.name} is a puzzle of yours, which nobody else has: leave out --certificate")
    if certificate is not None:
        require_place(certificate)
    resources = Resources(redis_url(redis), workers, memory)

    def finish(job: HuntDeals, control: "Control") -> dict[str, Any]:
        target = None if spec.digest else certificate or certificate_file(job.store.directory)
        return _certify(job, target, memory, control)

    start_run(spec, "hunt", asked.plan, resources, data, json, queue=queue, limits=asked.limits, finish=finish)


def _certify(job: "HuntDeals", target: Path | None, memory: int | None, control: "Control") -> dict[str, Any]:
    """Write the certificate of the best deal, if there is one; where it is."""
    from hakoiri.coordinator.deals.certificate import certify, write_certificate
    from hakoiri.coordinator.session.resources import Resources
    from hakoiri.render.progress import shown_progress

    best = job.best
    if best is None:
        stderr().print("no deal is worth a record yet: give more --time, or a greater --cap")
    if best is None or target is None:
        return {"certificate": None}
    with shown_progress(stderr()) as progress:
        write_certificate(
            certify(job.deal_spec(best), best.figures, Resources(memory=memory), control, progress), target
        )
    stderr().print(Text(f"derive it again with: hakoiri verify {shlex.quote(str(target))}"), style="dim")
    return {"certificate": str(target)}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: hakoiri study superpuzz --columns 4..6 --deals 1000 --seed 1")(study)
    app.command(epilog="Example: hakoiri hunt gap -o ranks=7 --maximise positions --time 10m")(hunt)
