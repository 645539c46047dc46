"""``hunt``: the hardest deals that a search of the time given finds, with a certificate of the best."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from hakoiri.cli.options import (
    MOST_SEED,
    DataOption,
    JsonOption,
    PuzzleOptions,
    RedisOption,
    WorkersOption,
    parse_count,
    parse_options,
    parse_time,
    redis_url,
)
from hakoiri.render.progress import clock
from hakoiri.render.tables import facts, print_json, stderr, stdout, table

if TYPE_CHECKING:
    from coordinator.deals.hunt import HuntResult, Limits
    from coordinator.deals.hunt_plan import Hunt
    from coordinator.session.resources import Resources

#: Records shown; the first ones come by the dozen.
_ROWS = 12


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
        Path | None, typer.Option("--certificate", metavar="FILE", help="Write it here; else beside the findings.")
    ] = None,
    data: DataOption = None,
    redis: RedisOption = None,
    workers: WorkersOption = None,
    json: JsonOption = False,
) -> None:
    """Hunt for the deal that leads to most positions, needs most moves or goes deepest. The same command goes on."""
    from coordinator.deals.hunt import Limits
    from coordinator.deals.hunt_plan import Hunt
    from coordinator.session.resources import Resources
    from puzzles.errors import PuzzleError
    from puzzles.registry import PuzzleSpec, with_own_file

    spec = with_own_file(PuzzleSpec(puzzle, parse_options(options or [])))
    wanted = Hunt(spec.name, spec.options, maximise, seed, cap, pool, digest=spec.digest)  # type: ignore[arg-type]
    wanted.build()
    if certificate is not None and spec.digest:
        raise PuzzleError(f"{spec.name} is a puzzle of yours, which nobody else has: leave out --certificate")
    limits = Limits(None if legs is not None else time, legs)
    _chase_and_report(wanted, limits, Resources(redis_url(redis), workers), certificate, data, json)


def _chase_and_report(
    wanted: "Hunt", limits: "Limits", resources: "Resources", certificate: Path | None, data: Path | None, json: bool
) -> None:
    from coordinator.deals.hunt import chase, kept
    from coordinator.errors import StopRun
    from coordinator.runs.catalogue import data_directory
    from coordinator.runs.certificate import certify, write_certificate
    from coordinator.session.control import Control
    from hakoiri.cli.signals import stopping_with
    from hakoiri.render.progress import shown_progress

    control, directory = Control(), data_directory(data)
    target, reason = None if wanted.digest else certificate or wanted.file(directory).with_suffix(".json"), ""
    with stopping_with(control.interrupt) as received:
        try:
            with shown_progress(stderr()) as progress:
                found = chase(wanted, directory, resources, limits, control, progress)
                if found.best is not None and target is not None:
                    made = certify(wanted.build(), found.best.deal, found.best.figures, control, progress)
                    write_certificate(made, target)
        except StopRun as stop:
            reason, found = stop.reason, kept(wanted, directory)
    done = not reason and found.best is not None
    if json:
        print_json(_report(wanted, found, target if done else None))
    else:
        _print(wanted, found, target if done else None)
    if reason:
        stderr().print(Text(f"interrupted: {reason}; every record is kept; go on with: {_command(wanted, data)}"))
        raise typer.Exit(received.exit_code)


def _report(wanted: "Hunt", found: "HuntResult", certificate: Path | None) -> dict[str, Any]:
    records = [asdict(record) for record in found.records]
    return {
        "puzzle": wanted.puzzle,
        "parameters": wanted.build().parameters,
        "objective": wanted.objective,
        "seed": wanted.seed,
        "legs": found.legs,
        "deals": found.tried,
        "positions": found.generated,
        "seconds": found.seconds,
        "best": records[-1] if records else None,
        "records": records,
        "certificate": None if certificate is None else str(certificate),
    }


def _print(wanted: "Hunt", found: "HuntResult", certificate: Path | None) -> None:
    console, columns = stdout(), ("after", "deal", "positions", "moves", "depth")
    listed = table(*columns, "when", numbers=columns)
    for number, record in list(enumerate(found.records, 1))[-_ROWS:]:
        moves = record.figures.moves
        row = (number, f"{record.figures.positions:,}", "none" if moves is None else moves, record.figures.depth)
        listed.add_row(clock(record.seconds), *map(str, row), record.when)
    if found.records:
        console.print(listed)
        if len(found.records) > _ROWS:
            console.print(f"[dim]the last {_ROWS} of {len(found.records)} records[/dim]")
        console.print()
        console.print(Text(found.records[-1].deal.replace("/", "\n")))
        console.print()
    best = found.best
    told = {
        f"most {wanted.objective}": None if best is None else best.score,
        "deals tried": found.tried,
        "positions generated": found.generated,
        "hunted for": clock(found.seconds),
        "certificate": None if certificate is None else str(certificate),
    }
    console.print(facts(told))
    if best is None:
        stderr().print("no deal is worth a record yet: give more --time, or a greater --cap")
    if certificate is not None:
        stderr().print(Text(f"derive it again with: hakoiri verify {shlex.quote(str(certificate))}"), style="dim")


def _command(wanted: "Hunt", data: Path | None) -> str:
    """What goes on with a hunt, for the usual time. Without the Redis URL, which may hold a password."""
    words = ["hakoiri", "hunt", wanted.puzzle]
    for name, value in wanted.options.items():
        words += ["-o", f"{name}={value}"]
    words += ["--maximise", wanted.objective, "--seed", str(wanted.seed), "--cap", str(wanted.cap)]
    words += ["--pool", str(wanted.pool)]
    return shlex.join([*words, *(["--data", str(data)] if data is not None else [])])


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: hakoiri hunt gap -o ranks=7 --maximise positions --time 10m")(hunt)
