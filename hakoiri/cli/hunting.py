"""``hunt``: the hardest deals that a search of the time given finds, with a certificate of the best."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from hakoiri.cli.driving import drive_and_report, report_queued
from hakoiri.cli.options import (
    MOST_SEED,
    DataOption,
    JsonOption,
    MemoryOption,
    PuzzleOptions,
    QueueOption,
    RedisOption,
    WorkersOption,
    parse_count,
    parse_options,
    parse_time,
    redis_url,
)
from hakoiri.render.tables import stderr

if TYPE_CHECKING:
    from coordinator.deals.hunt_job import HuntDeals
    from coordinator.session.control import Control


def hunt(
    puzzle: Annotated[
        str,
        typer.Argument(metavar="PUZZLE", help="gap, or FILE.py:NAME for a puzzle of yours whose deals can be varied."),
    ],
    options: PuzzleOptions = None,
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
    """Hunt for the deal that leads to most positions, needs most moves or goes deepest. The same command goes on."""
    from coordinator.deals.hunt_plan import HuntPlan, hunted
    from coordinator.runs.catalogue import data_directory
    from coordinator.runs.create import make_run
    from coordinator.session.resources import Resources
    from puzzles.errors import PuzzleError
    from puzzles.registry import PuzzleSpec, with_own_file

    spec = with_own_file(PuzzleSpec(puzzle, parse_options(options or [])))
    plan = HuntPlan.made(hunted(spec), maximise, seed, cap, pool)  # type: ignore[arg-type]
    if certificate is not None and spec.digest:
        raise PuzzleError(f"{spec.name} is a puzzle of yours, which nobody else has: leave out --certificate")
    resources, limits = Resources(redis_url(redis), workers, memory), {"seconds": time, "legs": None}
    if legs is not None:
        limits = {"seconds": None, "legs": legs}
    directory = make_run(data_directory(data), spec, "hunt", asdict(plan), resources, queue, limits)
    if queue:
        report_queued(directory, resources.redis, json)
        return
    target = None if spec.digest else certificate or directory.with_suffix(".json")
    drive_and_report(
        directory, resources, json, data, finish=lambda job, control: _certify(job, target, memory, control)
    )


def _certify(job: "HuntDeals", target: Path | None, memory: int | None, control: "Control") -> dict[str, Any]:
    """Write the certificate of the best deal, if there is one; where it is."""
    from coordinator.deals.certificate import certify, write_certificate
    from coordinator.session.resources import Resources
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
    """Add the command."""
    app.command(epilog="Example: hakoiri hunt gap -o ranks=7 --maximise positions --time 10m")(hunt)
