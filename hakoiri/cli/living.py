"""``runs``, ``status``, ``cancel`` and ``delete``: the life of runs. Imports neither numpy nor numba."""

import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hakoiri.cli.options import DataOption, JsonOption, RunArgument
from hakoiri.render.progress import progress_count, progress_text
from hakoiri.render.tables import facts, print_json, stderr, stdout, table

if TYPE_CHECKING:
    from coordinator.runs.catalogue import RunStatus

_WATCH_SECONDS = 0.5
_MOVING = ("queued", "running")


def runs(data: DataOption = None, json: JsonOption = False) -> None:
    """List all runs, the oldest first."""
    from coordinator.runs.catalogue import data_directory, list_runs

    found = list_runs(data_directory(data))
    if json:
        print_json({"runs": [_as_row(status) for status in found]})
        return
    if not found:
        stderr().print(f"no runs in {data_directory(data)}; make one with: hakoiri run klotski")
        return
    listed = table("run", "mode", "status", "done", "depth", "made", numbers=("done", "depth"))
    for status in found:
        row = _as_row(status)
        depth = "" if row["depth"] is None else str(row["depth"])
        done = "" if status.fault else progress_count(status.state.progress)
        listed.add_row(row["run"], row["mode"], row["status"], done, depth, row["created"])
    stdout().print(listed)
    for status in found:
        if status.fault:
            stderr().print(f"[red]{status.run}: {status.fault}[/red]")


def status(
    name: RunArgument,
    watch: Annotated[bool, typer.Option("--watch", help="Stay until the run comes to rest.")] = False,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Show how a run stands and how fast it goes."""
    from coordinator.runs.catalogue import data_directory, find_run, status_of

    directory = find_run(data_directory(data), name)
    found = status_of(directory)
    if watch:
        found = _watch(directory, found)
    row = _as_row(found)
    if json:
        print_json(row)
    else:
        row |= {"progress": progress_text(found.state.progress), "seconds_left": None}
        stdout().print(
            facts({name.replace("_", " "): value for name, value in row.items() if value != "" and value is not False})
        )


def cancel(name: RunArgument, data: DataOption = None, json: JsonOption = False) -> None:
    """Stop a queued or running run; its layers stay, and only 'resume' takes it up again."""
    from coordinator.runs.catalogue import cancel_run, data_directory, find_run

    directory = find_run(data_directory(data), name)
    result = cancel_run(directory)
    if json:
        print_json({"run": directory.name, "status": result})
    else:
        stdout().print(f"{directory.name} is {result}")


def delete(
    name: RunArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Remove a run and all its data."""
    from coordinator.runs.catalogue import data_directory, delete_run, find_run

    directory = find_run(data_directory(data), name)
    if not yes and not json and sys.stdin.isatty():
        typer.confirm(f"delete {directory} and all that it found?", abort=True)
    delete_run(directory)
    if json:
        print_json({"run": directory.name, "status": "deleted"})
    else:
        stdout().print(f"{directory.name} is deleted")


def _as_row(found: "RunStatus") -> dict[str, Any]:
    from coordinator.runs.summary import identity, standing

    # A damaged run has no manifest to tell of itself.
    known = identity(found.manifest) if found.manifest else {"run": found.run, "puzzle": "", "mode": "", "created": ""}
    return known | {
        "status": found.status,
        **standing(found.state),
        "rate": round(found.rate),
        "reason": found.fault or found.state.reason,
        "holder": _holder_text(found),
    }


def _holder_text(found: "RunStatus") -> str:
    from storage.ledger.lock import describe_holder

    return describe_holder(found.holder) if found.holder else ""


def _watch(directory: Any, found: "RunStatus") -> "RunStatus":
    """Follow a run until it is neither queued nor running; the last status."""
    from rich.live import Live

    from coordinator.runs.catalogue import status_of

    def line(now: "RunStatus") -> str:
        return f"{now.run}: {now.status}, {progress_text(now.state.progress)}"

    with Live(line(found), console=stderr(), transient=True) as live:
        while found.status in _MOVING:
            time.sleep(_WATCH_SECONDS)
            found = status_of(directory)
            live.update(line(found))
    return found


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: hakoiri runs --json")(runs)
    app.command(epilog="Example: hakoiri status last --watch")(status)
    app.command(epilog="Example: hakoiri cancel 3f9a2c")(cancel)
    app.command(epilog="Example: hakoiri delete 3f9a2c --yes")(delete)
