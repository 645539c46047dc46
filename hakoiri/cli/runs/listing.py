"""The command ``runs``: lists runs, and deletes duplicate ones. Imports neither numpy nor numba."""

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from hakoiri.cli.commands import command_line, flag, option
from hakoiri.cli.completing import puzzles_beginning, statuses_beginning
from hakoiri.cli.driving import no_coordinator
from hakoiri.cli.options import DataOption, JsonOption
from hakoiri.hints import worded
from hakoiri.puzzles.errors import HakoiriError, counted, did_you_mean
from hakoiri.render.progress import progress_count
from hakoiri.render.tables import first_fitting, print_json, stderr, stdout, table
from hakoiri.rows.runs import status_row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from hakoiri.coordinator.runs.catalogue import RunStatus
    from hakoiri.coordinator.runs.pruning import PrunableRun

#: Columns of the list of runs that are left out if the terminal is too narrow.
LEFT_OUT: tuple[tuple[str, ...], ...] = (
    (), ("created",), ("created", "kind"), ("created", "kind", "details"),
)  # fmt: skip
_COLUMNS = ("run", "kind", "details", "status", "done", "depth", "created")
#: The least columns of the terminal for the details, which wrap.
_DETAILS_WIDTH = 20


def parse_status(text: str) -> str:
    """Return a status that a run can have."""
    from hakoiri.coordinator.runs.catalogue import STATUSES

    if text not in STATUSES:
        near = did_you_mean(text, STATUSES)
        raise typer.BadParameter(f"{text!r} is not a status{near}; expected {', '.join(STATUSES)}")
    return text


@command_line("runs --puzzle klotski --status complete")
def runs(
    puzzle: Annotated[
        str | None, option("--puzzle", "PUZZLE", "List only runs of this puzzle.", autocompletion=puzzles_beginning)
    ] = None,
    status: Annotated[
        str | None,
        option("--status", "STATUS", "List only runs with this status: queued, running, complete, interrupted, ...",
               parser=parse_status, autocompletion=statuses_beginning),
    ] = None,
    prune: Annotated[
        bool, flag("--prune", "Delete repeated runs: same puzzle, options, start, goal and kind.")
    ] = False,
    yes: Annotated[bool, flag("--yes -y", "With --prune: delete without asking.")] = False,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """List all runs, the oldest first.

    With --prune, lists the runs that failed or did the same as a later complete run, and deletes them when you confirm.
    The latest complete run stays, with the runs that belong to it. Queued runs and runs held by a process stay too.
    """
    from hakoiri.coordinator.runs.catalogue import data_directory, list_runs

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
        _print_list(found, where)
    elif there:
        stderr().print(Text(f"none of the {counted(len(there), 'runs')} in {where} matches"))
    else:
        stderr().print(Text(f"no runs in {where}; start one with: hakoiri run klotski"))


def _print_list(found: "list[RunStatus]", where: Path) -> None:
    stdout().print(first_fitting(_listed(found, names) for names in LEFT_OUT))
    for fault in _faults(found):
        stderr().print(Text(fault, "red"))
    for status in found:
        if status.made_as:
            stderr().print(Text(f"{status.run} was created as {status.made_as}: it is a copy, or was renamed"))
    if not all(status.served for status in found):
        stderr().print(Text(no_coordinator(where)))


def _faults(found: "list[RunStatus]") -> "Iterator[str]":
    """Yield a line for each unreadable run, and one for all runs of another storage format."""
    from hakoiri.coordinator.runs.catalogue import ANOTHER_FORMAT

    for status in found:
        if status.fault and status.status != ANOTHER_FORMAT:
            yield f"{status.run}: {worded(status.fault, status.fault.hints)}"
    if others := sum(status.status == ANOTHER_FORMAT for status in found):
        yield f"{counted(others, 'runs')} of another storage format: use the Hakoiri that made them, or delete them"


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
        if hosts := row["keepers"]:
            row["details"] = ", ".join(filter(None, (row["details"], f"kept by {counted(len(hosts), 'hosts')}")))
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
    from hakoiri.coordinator.errors import RunError
    from hakoiri.coordinator.runs.pruning import prunable_runs

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
    from hakoiri.coordinator.runs.catalogue import delete_run

    if repeated.kept and not (where / repeated.kept).is_dir():
        return []
    try:
        return delete_run(where / repeated.found.run)
    except HakoiriError as error:
        stderr().print(Text(worded(error, error.hints)))
        return []
