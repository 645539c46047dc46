"""The commands that archive runs, list archives and restore runs. Imports neither numpy nor numba."""

from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from hakoiri.cli import options as shared
from hakoiri.cli.completing import runs_beginning
from hakoiri.cli.options import command_line
from hakoiri.coordinator.errors import RunError
from hakoiri.coordinator.runs.archive import Archived, archive_run, list_archives, restore_run
from hakoiri.coordinator.runs.catalogue import base_of, data_directory, find_run, keepers_of
from hakoiri.errors import HakoiriError, RunHeldError, counted
from hakoiri.hints import worded
from hakoiri.parameters import flag, parameter
from hakoiri.render.tables import print_json, stderr, stdout, table
from hakoiri.storage.names import by_age, run_directories

_WHERE = "Folder, or s3://BUCKET/PREFIX with the keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."


@command_line("archive last --to s3://puzzles/runs")
def archive(
    name: str | None = parameter(
        "", "[RUN]", "Name of the run, a unique prefix of it, or 'last'.", autocompletion=runs_beginning, typed=None
    ),
    every: bool = flag("--all", "Archive all runs of the data directory that are at rest."),
    to: str = parameter("--to", "DIR|URL", _WHERE, required=True),
    data: Path | None = shared.DATA,
    json: bool = shared.JSON,
) -> None:
    """Copy a run to a folder or to a bucket of S3, with the runs that belong to it and checksums of all files.

    What is archived already is read and compared; a run that has changed since replaces its archive. With --all, runs
    that a process drives, or whose layers hosts keep, are left out, and said so.
    """
    where = data_directory(data)
    if every == (name is not None):
        raise typer.BadParameter("give the name of a run, or --all")
    if name is not None:
        _print_archived(archive_run(find_run(where, name), to, stderr().print), "archived", to, json)
        return
    rows, failed = list[dict[str, Any]](), list[str]()
    for directory in sorted(run_directories(where), key=by_age):
        if base_of(directory):
            continue
        rows.append({"run": directory.name, "status": "left out"})
        try:
            if hosts := keepers_of(directory):
                rows[-1]["why"] = f"{', '.join(hosts)} keep its layers"
            else:
                rows[-1] |= _row(archive_run(directory, to, stderr().print))
        except RunHeldError as error:
            rows[-1]["why"] = str(error)
        except HakoiriError as error:
            failed.append(directory.name)
            rows[-1] |= {"status": "failed", "why": worded(error, error.hints)}
        if not json:
            _print_row(rows[-1])
    if json:
        print_json({"where": to, "runs": rows})
    if failed:
        raise RunError(f"{', '.join(failed)} could not be archived")


@command_line("archives s3://puzzles/runs")
def archives(where: str = parameter("", "DIR|URL", _WHERE), json: bool = shared.JSON) -> None:
    """List the archives in a folder or in a bucket of S3."""
    found = list_archives(where)
    if json:
        print_json({"where": where, "archives": [{"run": run, **_listed(of)} for run, of in found.items()]})
    elif found:
        listed = table("run", "runs that belong to it", "files", "MB", numbers=("files", "MB"))
        for run, of in found.items():
            cells = (f"{of.files:,}", f"{of.bytes / 1e6:,.1f}") if of else ("not whole", "")
            listed.add_row(run, ", ".join(of.runs[1:]) if of else "", *cells)
        stdout().print(listed)
    else:
        stderr().print(Text(f"no archives in {where}"))


@command_line("restore 3f9a2c-klotski --from s3://puzzles/runs")
def restore(
    name: str = parameter("", "RUN", "Name of the archived run."),
    source: str = parameter("--from", "DIR|URL", _WHERE, required=True),
    new_name: str | None = parameter("--name", "NAME", "Name of the restored run.", "the one that it had"),
    data: Path | None = shared.DATA,
    json: bool = shared.JSON,
) -> None:
    """Restore a run from an archive, if all checksums are right."""
    _print_archived(restore_run(data_directory(data), name, source, new_name, stderr().print), "restored", source, json)


def _row(done: Archived, what: str = "archived") -> dict[str, Any]:
    return {"status": what if done.is_new else "unchanged", **_listed(done)}


def _listed(found: Archived | None) -> dict[str, Any]:
    if found is None:
        return {"runs": None, "files": None, "bytes": None}
    return {"runs": found.runs, "files": found.files, "bytes": found.bytes}


def _print_row(row: dict[str, Any]) -> None:
    if "why" in row:
        stderr().print(Text(f"{row['run']} {row['status']}: {row['why']}"), soft_wrap=True)
        return
    verb = "is" if len(row["runs"]) == 1 else "are"
    what = "archived already" if row["status"] == "unchanged" else row["status"]
    size = f"{counted(row['files'], 'files')}, {row['bytes'] / 1e6:,.1f} MB"
    stdout().print(f"{', '.join(row['runs'])} {verb} {what}: {size}")


def _print_archived(done: Archived, what: str, where: str, json: bool) -> None:
    row = _row(done, what)
    if json:
        print_json({"where": where, **row})
    else:
        _print_row(row)
