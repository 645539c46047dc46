"""The commands that list, show, cancel and delete runs. Imports neither numpy nor numba."""

import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import typer
from rich.live import Live
from rich.table import Table
from rich.text import Text

from hakoiri.cli import options as shared
from hakoiri.cli.completing import puzzles_beginning, runs_beginning, words_beginning
from hakoiri.cli.driving import no_coordinator
from hakoiri.cli.options import command_line
from hakoiri.coordinator.errors import RunError, nearest_goal
from hakoiri.coordinator.runs.catalogue import (
    ANOTHER_FORMAT,
    STATUSES,
    PrunableRun,
    RunStatus,
    belonging_to,
    cancel_run,
    data_directory,
    delete_run,
    find_run,
    keepers_of,
    list_runs,
    prunable_runs,
    status_of,
)
from hakoiri.errors import HakoiriError, WorkerError, counted, did_you_mean, visible
from hakoiri.hints import worded
from hakoiri.parameters import flag, parameter
from hakoiri.render.progress import (
    compiling_text,
    expanded_text,
    live_text,
    progress_count,
    progress_text,
    work_log_facts,
)
from hakoiri.render.streams import results
from hakoiri.render.tables import facts, first_fitting, print_json, stderr, stdout, table
from hakoiri.rows.runs import living_rows, status_row, work_log_row

#: Columns of the list of runs that are left out if the terminal is too narrow.
LEFT_OUT: tuple[tuple[str, ...], ...] = ((), ("created",), ("created", "kind"), ("created", "kind", "details"))
_COLUMNS = ("run", "kind", "details", "status", "done", "depth", "created")
#: The least columns of the terminal for the details, which wrap.
_DETAILS_WIDTH = 20


def parse_status(text: str) -> str:
    """Return a status that a run can have."""
    if text not in STATUSES:
        near = did_you_mean(text, STATUSES)
        raise typer.BadParameter(f"{text!r} is not a status{near}; expected {', '.join(STATUSES)}")
    return text


@command_line("runs --puzzle klotski --status complete")
def runs(
    puzzle: str | None = parameter(
        "--puzzle", "PUZZLE", "List only runs of this puzzle.", autocompletion=puzzles_beginning
    ),
    status: str | None = parameter(
        "--status", "STATUS", "List only runs with this status: queued, running, complete, interrupted, ...",
        parser=parse_status, autocompletion=words_beginning(STATUSES),
    ),
    prune: bool = flag("--prune", "Delete repeated runs: same puzzle, options, start, goal and kind."),
    yes: bool = flag("--yes -y", "With --prune: delete without asking."),
    data: Path | None = shared.DATA,
    json: bool = shared.JSON,
) -> None:  # fmt: skip
    """List all runs, the oldest first.

    With --prune, lists the runs that failed or did the same as a later complete run, and deletes them when you confirm.
    The latest complete run stays, with the runs that belong to it. Queued runs and runs held by a process stay too.
    """
    where = data_directory(data)

    def wanted(found: "RunStatus") -> bool:
        of = found.manifest.puzzle["name"] if found.manifest else ""
        return puzzle in (None, of) and status in (None, found.status)

    if prune:
        _prune(where, wanted, yes, json)
        return
    if yes:
        raise typer.BadParameter("--yes needs --prune")
    there = list_runs(where)
    found = [each for each in there if wanted(each)]
    if json:
        print_json({"runs": [status_row(each) for each in found]})
    elif found:
        stdout().print(first_fitting(_listed(found, names) for names in LEFT_OUT))
        of_others = [each for each in found if each.status == ANOTHER_FORMAT]
        for each in found:
            if each.fault and each not in of_others:
                stderr().print(Text(f"{each.run}: {worded(each.fault, each.fault.hints)}", "red"))
        if of_others:
            use = "use the Hakoiri that made them, or delete them"
            stderr().print(Text(f"{counted(len(of_others), 'runs')} of another storage format: {use}", "red"))
        for each in found:
            if each.made_as:
                stderr().print(Text(f"{each.run} was created as {each.made_as}: it is a copy, or was renamed"))
        if not all(each.served for each in found):
            stderr().print(Text(no_coordinator(where)))
    elif there:
        stderr().print(Text(f"none of the {counted(len(there), 'runs')} in {where} matches"))
    else:
        stderr().print(Text(f"no runs in {where}; start one with: hakoiri run klotski"))


def _listed(found: "list[RunStatus]", left_out: tuple[str, ...]) -> "Table":
    """Return a table of runs; their times are in the zone of this machine, which the heading names."""
    now = datetime.now().astimezone()
    columns = [name for name in _COLUMNS if name not in left_out]
    listed = table(*columns, numbers=("done", "depth", "created"))
    # A number is one word, but its unit may wrap.
    listed.columns[columns.index("done")].no_wrap = False
    if "details" in columns:
        details = listed.columns[columns.index("details")]
        details.overflow, details.min_width = "fold", _DETAILS_WIDTH
    if "created" in columns:
        listed.columns[-1].header = f"created ({now.isoformat()[-6:]})"
    for status in found:
        row = status_row(status)
        row["created"] = _by_clock(row["created"], now)
        kept = row["keepers"] and f"kept by {counted(len(row['keepers']), 'hosts')}"
        row["details"] = ", ".join(filter(None, (visible(row["title"]), row["details"], kept)))
        row["depth"] = "" if row["depth"] is None else str(row["depth"])
        row["done"] = "" if status.fault else progress_count(status.state.progress)
        listed.add_row(*(str(row[name]) for name in columns))
    return listed


def _by_clock(created: str, now: datetime) -> str:
    """Return a stored time in the zone of this machine; unchanged if it is not a time."""
    try:
        return f"{datetime.fromisoformat(created).astimezone(now.tzinfo):%Y-%m-%d %H:%M}"
    except (TypeError, ValueError, OverflowError):
        return str(created)


def _prune(where: Path, wanted: Any, yes: bool, json: bool) -> None:
    """Delete duplicate runs, if the user confirms."""
    repeated = [each for each in prunable_runs(where) if wanted(each.found)]
    for each in repeated:
        belonging = "".join(f", and {name} with it" for name in each.belonging)
        why = f"({each.found.status}) did the same as {each.kept}" if each.kept else "failed"
        stderr().print(Text(f"{each.found.run} {why}{belonging}"))
    if repeated and not yes:
        if not sys.stdin.isatty():
            names = ", ".join(each.found.run for each in repeated)
            raise RunError(f"no terminal to confirm on; add --yes to delete {names}")
        number = sum(1 + len(each.belonging) for each in repeated)
        typer.confirm(f"delete {counted(number, 'runs')} and all results?", abort=True, err=True)
    deleted = [name for each in repeated for name in _deleted(where, each)]
    if json:
        print_json({"runs": deleted, "status": "deleted"})
        return
    for name in deleted:
        stdout().print(f"{name} is deleted")
    if not repeated:
        stderr().print(Text(f"no repeated or failed runs in {where}"))


def _deleted(where: Path, repeated: "PrunableRun") -> list[str]:
    """Delete a duplicate run, unless it is held by now, or the run kept instead is gone; return the names deleted."""
    if repeated.kept and not (where / repeated.kept).is_dir():
        return []
    try:
        return delete_run(where / repeated.found.run)
    except HakoiriError as error:
        stderr().print(Text(worded(error, error.hints)))
        return []


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
    name: str = shared.RUN,
    watch: bool = flag("--watch", "Follow the run until it stops."),
    wide: bool = shared.WIDE,
    data: Path | None = shared.DATA,
    json: bool = shared.JSON,
) -> None:
    """Show the status, progress and figures of a run."""
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
def cancel(name: str = shared.RUN, data: Path | None = shared.DATA, json: bool = shared.JSON) -> None:
    """Cancel a queued or running run.

    Its results stay. Only 'hakoiri resume RUN' continues it.
    """
    directory = find_run(data_directory(data), name)
    result = cancel_run(directory)
    if json:
        print_json({"run": directory.name, "status": result})
    else:
        stdout().print(f"{directory.name} is {result}")


@command_line("delete 3f9a2c last --yes")
def delete(
    names: list[str] = parameter(
        "", "RUN...", "Names of runs, unique prefixes of them, or 'last'.", autocompletion=runs_beginning
    ),
    yes: bool = flag("--yes -y", "Delete without asking."),
    data: Path | None = shared.DATA,
    json: bool = shared.JSON,
) -> None:
    """Delete runs and all their data.

    Also deletes the runs that belong to them (goal distances, eccentricities), and certificates of hunts.
    """
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
    moving, away = found.status in _MOVING, row.pop("away") or ()
    parameters = row.get("parameters", {})
    has_goal = False if parameters.get("goal") == "" else None
    row |= {
        "progress": progress_text(found.state.progress if moving else replace(found.state.progress, **_NO_TIME)),
        "parameters": {name: value for name, value in parameters.items() if value},
        "goal_depth": nearest_goal(row, has_goal),
        "compiling": compiling_text(row["compiling"]) or "",
        "seconds": f"{row['seconds']:.3f} s",
        "rate": counted(row["rate"], row["rate_unit"]) if row["rate"] else None,
        "priority": row["priority"] or "",
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
    if keepers and (url := shared.redis_url(None)) is not None:
        with suppress(WorkerError):
            return sorted({*keepers} - {row["host"] for row in living_rows(url)[1]})
    return None


def _watch(directory: Path, found: "RunStatus", json: bool) -> "RunStatus":
    """Follow a run until it comes to rest; return its last status.

    On a terminal one line is updated, otherwise each change is a new line.
    """
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
    yield found
    while found.status in _MOVING or (found.awaited and found.status == "interrupted"):
        time.sleep(_WATCH_SECONDS)
        yield (found := status_of(directory))


def _watched(directory: Path, found: "RunStatus") -> str:
    missing = "" if found.served else f"; {no_coordinator(directory.parent)}"
    work_log = work_log_row(found.state.work_log)
    by = f"; {text}" if work_log and (text := expanded_text(work_log)) else ""
    return f"{found.run}: {found.status}, {progress_text(found.state.progress)}{by}{missing}"
