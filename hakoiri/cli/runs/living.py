"""The commands ``status``, ``cancel`` and ``delete``. Imports neither numpy nor numba."""

import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from hakoiri.cli.commands import argument, command_line, flag
from hakoiri.cli.completing import runs_beginning
from hakoiri.cli.driving import no_coordinator
from hakoiri.cli.options import DataOption, JsonOption, RunArgument, WideOption, redis_url
from hakoiri.puzzles.errors import counted
from hakoiri.render.progress import live_text, progress_text
from hakoiri.render.streams import results
from hakoiri.render.tables import facts, print_json, stderr, stdout
from hakoiri.render.work_log import expanded_text, work_log_facts
from hakoiri.rows.hosts import living_rows
from hakoiri.rows.runs import status_row, work_log_row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hakoiri.coordinator.runs.catalogue import RunStatus

_WATCH_SECONDS = 0.5
_MOVING = ("queued", "running")
#: The labels in `run` of figures that have another name in JSON.
_LABELS = {
    "goal_depth": "nearest goal",
    "seconds": "computing",
    "edges": "moves between them",
    "keepers": "kept by",
    "start_component": "start in component",
    "deals": "deals tried",
    "positions": "positions generated",
}
#: A run at rest has no remaining time.
_NO_TIME: dict[str, Any] = {"seconds_left": None, "step_left": None, "most_left": None}


@command_line("status last --watch")
def status(
    name: RunArgument,
    watch: Annotated[bool, flag("--watch", "Follow the run until it stops.")] = False,
    wide: WideOption = False,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Show the status, progress and figures of a run."""
    from hakoiri.coordinator.runs.catalogue import data_directory, find_run, status_of

    directory = find_run(data_directory(data), name)
    found = status_of(directory)
    if watch:
        found = _watch(directory, found, json)
    row = status_row(found)
    row["away"] = _away(row["keepers"])
    if json:
        print_json(row)
    else:
        stdout().print(facts(_labelled(row, found), wide))
        if not found.served:
            stderr().print(Text(no_coordinator(directory.parent)))


@command_line("cancel 3f9a2c")
def cancel(name: RunArgument, data: DataOption = None, json: JsonOption = False) -> None:
    """Cancel a queued or running run.

    Its results stay. Only 'hakoiri resume RUN' continues it.
    """
    from hakoiri.coordinator.runs.catalogue import cancel_run, data_directory, find_run

    directory = find_run(data_directory(data), name)
    result = cancel_run(directory)
    if json:
        print_json({"run": directory.name, "status": result})
    else:
        stdout().print(f"{directory.name} is {result}")


@command_line("delete 3f9a2c last --yes")
def delete(
    names: Annotated[
        list[str],
        argument("RUN...", "Names of runs, unique prefixes of them, or 'last'.", autocompletion=runs_beginning),
    ],
    yes: Annotated[bool, flag("--yes -y", "Delete without asking.")] = False,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Delete runs and all their data.

    Also deletes the runs that belong to them (goal distances, eccentricities), and certificates of hunts.
    """
    from hakoiri.coordinator.errors import RunError
    from hakoiri.coordinator.runs.catalogue import belonging_to, data_directory, delete_run, find_run, keepers_of

    # Find all before deleting any: 'last' means one run, and a wrong name deletes none.
    directories = {directory.name: directory for directory in (find_run(data_directory(data), name) for name in names)}
    if not yes:
        if not sys.stdin.isatty():
            raise RunError(f"no terminal to confirm on; add --yes to delete {', '.join(directories)}")
        hanging = [other.name for directory in directories.values() for other in belonging_to(directory)]
        named = ", ".join(dict.fromkeys([*directories, *hanging]))
        typer.confirm(f"delete {named} and all results?", abort=True, err=True)
    deleted: list[str] = []
    for directory in directories.values():
        # A run may have been deleted with its base run.
        if directory.name in deleted:
            continue
        kept = {each.name: keepers_of(each) for each in (directory, *belonging_to(directory))}
        gone = delete_run(directory)
        deleted += gone
        for name in gone:
            if keepers := kept.get(name):
                left = f"parts of {name} are left at {', '.join(keepers)}: remove run-{name}-* from their directories"
                stderr().print(Text(left), soft_wrap=True)
            if not json:
                stdout().print(f"{name} is deleted")
    if json:
        print_json({"runs": deleted, "status": "deleted"})


def _labelled(row: dict[str, Any], found: "RunStatus") -> dict[str, Any]:
    """Return a row for people: the labels of `run`, units, and no empty values."""
    from hakoiri.coordinator.errors import nearest_goal

    moving, away = found.status in _MOVING, row.pop("away") or ()
    parameters = row.get("parameters", {})
    has_goal = False if parameters.get("goal") == "" else None
    row |= {
        "progress": progress_text(found.state.progress if moving else replace(found.state.progress, **_NO_TIME)),
        "parameters": {name: value for name, value in parameters.items() if value},
        "goal_depth": nearest_goal(row, has_goal),
        "seconds": f"{row['seconds']:.3f} s",
        "rate": counted(row["rate"], row["rate_unit"]) if row["rate"] else None,
        "keepers": ", ".join(f"{host} (away)" if host in away else host for host in row["keepers"]),
        **work_log_facts(row.pop("work_log")),
    }
    if not row["keepers"] and "kept" in row:
        row["was kept"] = row.pop("kept")
    return {
        _LABELS.get(name, name.replace("_", " ")): value
        for name, value in row.items()
        # Lists, such as open intervals, are for JSON.
        if name not in ("details", "rate_unit", "seconds_left", "served")
        and value != ""
        and value is not False
        and not isinstance(value, list)
    }


def _away(keepers: list[str]) -> list[str] | None:
    """Return the hosts that are not alive; ``None`` if no Redis can tell."""
    from hakoiri.worker.errors import WorkerError

    if keepers and (url := redis_url(None)) is not None:
        with suppress(WorkerError):
            return sorted({*keepers} - {row["host"] for row in living_rows(url)[1]})
    return None


def _watch(directory: Path, found: "RunStatus", json: bool) -> "RunStatus":
    """Follow a run until it comes to rest; return its last status.

    On a terminal one line is updated, otherwise each change is a new line.
    """
    from rich.live import Live

    if results().isatty() and not json:
        with Live(live_text(_watched(directory, found)), console=stderr(), transient=True) as live:
            for now in _statuses(directory, found):
                found = now
                live.update(live_text(_watched(directory, found)))
        return found
    console, said = stderr() if json else stdout(), ""
    for now in _statuses(directory, found):
        found, line = now, _watched(directory, now)
        if line != said:
            said = line
            console.print(Text(line), soft_wrap=True)
    return found


def _statuses(directory: Path, found: "RunStatus") -> "Iterator[RunStatus]":
    """Yield the status of a run repeatedly until it rests: no process drives it, and it is not queued."""
    from hakoiri.coordinator.runs.catalogue import status_of

    yield found
    while found.status in _MOVING or (found.awaited and found.status == "interrupted"):
        time.sleep(_WATCH_SECONDS)
        yield (found := status_of(directory))


def _watched(directory: Path, found: "RunStatus") -> str:
    missing = "" if found.served else f"; {no_coordinator(directory.parent)}"
    work_log = work_log_row(found.state.work_log)
    by = f"; {text}" if work_log and (text := expanded_text(work_log)) else ""
    return f"{found.run}: {found.status}, {progress_text(found.state.progress)}{by}{missing}"
