"""The command ``verify``: derives a run or a certificate again."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from hakoiri.cli.commands import argument, command_line, flag, option
from hakoiri.cli.completing import runs_beginning
from hakoiri.cli.driving import answering
from hakoiri.cli.groups import Work
from hakoiri.cli.options import OwnFileOption
from hakoiri.hints import in_command_line, worded
from hakoiri.puzzles.errors import Hint, counted
from hakoiri.puzzles.keys.seeds import MOST_SEED
from hakoiri.render.streams import unread
from hakoiri.render.tables import print_json, stderr, stdout
from hakoiri.rows.runs import report_row

if TYPE_CHECKING:
    from hakoiri.coordinator.session.check import Report

#: The remedy if no repair helps, by the cause of the faults that `verify` has found.
_MENDING = {
    "puzzle": "the puzzle is wrong, not the file, so no repair helps: mend its rules, then start a new run",
    "unknown": "every checksum is right, so no repair helps: start a new run; if that is not sound, mend the puzzle",
}


@command_line("verify last --full")
def verify(
    name: Annotated[
        str,
        argument(
            "RUN|FILE.json", "Name of a run, or certificate of hakoiri export or hunt.", autocompletion=runs_beginning
        ),
    ],
    full: Annotated[bool, flag("--full", "Check every configuration, not a sample; takes longer.")] = False,
    seed: Annotated[
        int | None, option("--seed", "S", "Seed of the sample.", min=0, max=MOST_SEED, usual="a random one")
    ] = None,
    puzzle: OwnFileOption = None,
    *,
    work: Work,
) -> None:
    """Check a run or a certificate by deriving it again.

    Uses the reference rules of the puzzle. Lists all faults, and exits with code 1 if there are any.
    """
    from hakoiri.admission import admit
    from hakoiri.coordinator.deals.certificate import SUFFIX, verify_file
    from hakoiri.coordinator.runs.catalogue import data_directory, find_run, keepers_of
    from hakoiri.coordinator.runs.verify import verify_directory

    certified = name.endswith(SUFFIX)
    resources = work.resources
    path = Path(name) if certified else find_run(data_directory(work.data), name)
    if not certified:
        admit(path, puzzle)
    elif puzzle is not None:
        raise typer.BadParameter("certificates are for built-in puzzles; leave out --puzzle")
    with answering(": nothing is proved") as (control, progress):
        if certified:
            report = verify_file(path, full, resources.here(), control, progress, seed)
        else:
            report = verify_directory(path, full, resources, control, progress, seed)
    row = report_row(report)
    with unread(not report.ok):
        if work.json:
            print_json(({"certificate": name} if certified else {"run": path.name}) | row)
        else:
            stdout().print(Text(_outcome(report)), soft_wrap=True)
            for fault in row["faults"]:
                stdout().print(Text(fault, style="red"), soft_wrap=True)
    if not (work.json or certified) and report.checked and report.cause:
        hints = [Hint("repair", path.name, str(work.data or ""))]
        if keepers_of(path):
            hints.insert(0, Hint("collect", path.name, str(work.data or "")))
        repair = "; then ".join(map(in_command_line, hints))
        stderr().print(Text(_MENDING.get(report.cause, repair)), soft_wrap=True)
    if not report.ok:
        raise typer.Exit(1)


def _outcome(report: "Report") -> str:
    """Return the result of a verification in a sentence that claims no more than was checked."""
    checked = ", ".join(counted(number, what) for what, number in report.checked.items())
    nothing = "nothing" if report.state else "nothing, for it cannot be opened"
    said = f"{'sound' if report.ok else 'NOT SOUND'}: checked {checked or nothing}"
    if report.sampled:
        said += f" (a sample, --seed {report.seed}; --full checks all)"
    if report.believed:
        said += f"; {report.believed}: collect the run first, or --full"
    if not report.ok or report.complete or report.state is None:
        return said
    how = "has failed" if report.state.status == "failed" else "is not complete"
    reason = worded(report.state.reason, report.state.hints)
    return f"the stored part is {said}\nthe run {how}{': ' if reason else ''}{reason}"
