"""The commands ``run``, ``enqueue``, ``resume``, ``collect``, ``drain`` and ``verify``."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from hakoiri.cli import options as shared
from hakoiri.cli.completing import runs_beginning
from hakoiri.cli.driving import LayersHere, QueuedInTurn, Work, answering, drive_and_report, start_run
from hakoiri.cli.options import command_line
from hakoiri.coordinator.errors import nearest_goal
from hakoiri.coordinator.runs.catalogue import belonging_to, data_directory, find_run, keepers_of
from hakoiri.errors import Hint, PuzzleError, counted
from hakoiri.hints import in_command_line, worded
from hakoiri.parameters import flag, parameter
from hakoiri.puzzles.options import MOST_SEED
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.reading import admit, parse_options, read_board
from hakoiri.render.progress import clock
from hakoiri.render.streams import unread
from hakoiri.render.tables import facts, print_json, stderr, stdout
from hakoiri.storage.ledger.ledger import Ledger

if TYPE_CHECKING:
    from hakoiri.coordinator.session.check import Report
    from hakoiri.coordinator.session.job import Request


@dataclass(frozen=True)
class Wanted:
    """Options that determine the run."""

    puzzle: str = shared.PUZZLE
    options: list[str] | None = shared.PUZZLE_OPTIONS
    whole: bool = flag("--whole", "Search the whole space: every configuration, component and diameter (a census).")
    diameters: str | None = parameter(
        "--diameters", "largest=K|below=N|none",
        "With --whole: measure only the K largest components, those below N configurations, or none.", "all",
    )  # fmt: skip
    by: str | None = parameter(
        "--by", "joins|layers",
        "With --whole: find the components by joining the ends of all moves, or by a search layer by layer in each.",
        "joins, which is faster",
    )  # fmt: skip
    until_goal: bool = flag("--until-goal", "Stop after the layer of the nearest goal.")
    layers: int | None = parameter("--layers", "N", "Stop after layer N, which is N moves from the start.", min=0)
    most: int | None = parameter(
        "--most", "N",
        "Stop after the layer with which N configurations are found; with --whole, measure no more components, the "
        "largest first, once these have N.", min=1,
    )  # fmt: skip
    keep: str | None = parameter(
        "--keep", "layers|frontier|depths",
        "Store all configurations; those of the last two layers; or these and the depth of all others, in two bits "
        "each, if the puzzle numbers them.", "layers",
    )  # fmt: skip
    merge_mirrors: bool = flag("--merge-mirrors", "Take images by symmetries that keep the start as one.")
    start: str | None = parameter(
        "--from", "CONF|FILE|PATTERN",
        "Start here: rows joined by '/', 0x..., a text file, - for stdin, or a classic. From several starts together: "
        "a file with one in each line, or a pattern, '*' for anything.", "the puzzle's",
    )  # fmt: skip
    goal: str | None = shared.GOAL
    name: str | None = parameter("--name", "NAME", "Name of the run.", "six digits and the puzzle")
    reuse: bool = flag("--reuse", "Use a complete run with the same parameters, if there is one.")

    def request(self) -> tuple[str | None, "Request"]:
        """Return the kind of run, ``None`` for the puzzle's usual one, and the request."""
        from hakoiri.coordinator.session.job import Job

        spec = shared.spec_of(self.puzzle, self.options, self.start, self.goal, self.merge_mirrors, True)
        spec = spec if self.whole else _settled(spec)
        if self.whole:
            if self.layers is not None:
                raise PuzzleError("a census has no start and so no layers; leave out --layers")
            if self.keep is not None:
                raise PuzzleError("a census keeps all configurations; leave out --keep")
            from hakoiri.coordinator.census.job import CensusJob

            return "census", CensusJob.parse_request(
                spec, until_goal=self.until_goal, diameters=self.diameters or "all", by=self.by or "joins",
                most=self.most,
            )  # fmt: skip
        for name, value in (("--diameters", self.diameters), ("--by", self.by)):
            if value is not None:
                raise PuzzleError(f"{name} needs --whole")
        return None, Job.parse_request(
            spec, until_goal=self.until_goal, layers=self.layers, most=self.most,
            keep="layers" if self.keep is None else self.keep,
        )  # fmt: skip


def _settled(spec: PuzzleSpec) -> PuzzleSpec:
    """Return the puzzle with the option that its start leaves open, as the user chooses it on a terminal."""
    option = spec.kind().asks_for
    if not option or spec.start is None or {option, "goal"} & spec.options.keys() or not sys.stdin.isatty():
        return spec
    if not (notes := replace(spec, quiet=True, merge_mirrors=False).build().start_notes):
        return spec
    allowed = spec.kind().options[option]
    chosen = typer.prompt(
        f"{notes[0]}\n{option}, {allowed.describe()}", allowed.default, err=True, value_proc=allowed.check
    )
    return replace(spec, options={**spec.options, option: chosen})


@command_line("run klotski --whole")
def run(
    wanted: Wanted, search: LayersHere, wide: bool = shared.WIDE,
    dry_run: bool = flag("--dry-run", "Create no run; print its size, memory, disk and time."),
) -> None:  # fmt: skip
    """Find every configuration of a puzzle, in this process.

    Press Ctrl-C to stop; 'hakoiri resume RUN' continues where it stopped.
    """
    kind, asked = wanted.request()
    if dry_run:
        from hakoiri.coordinator.runs.create import plan_run

        plan_run(data_directory(search.data), asked.spec, kind, asked.plan, search.resources, wanted.name)
        _print_needs(asked.spec, search, wanted.whole)
        return
    start_run(asked, kind, search, name=wanted.name, reuse=wanted.reuse, wide=wide)


def _print_needs(spec: "PuzzleSpec", search: LayersHere, whole: bool) -> None:
    """Print what a short search from the start, or of the `whole` space, finds, and what a run for all takes."""
    from hakoiri.rows.puzzles import probe_row

    row = probe_row(spec.build(), search.resources, data_directory(search.data), whole)
    if search.json:
        print_json(row)
        return
    known, depths = row["expected"] is not None, row["disk_of_depths"]
    free, in_memory = f"{_size(row['free'])} are free", row["memory_of_table"]
    frontier = "some of the widest layers" if spec.build().undirected and not whole else None
    kept = None if depths is None else f"{_size(depths)}, and some of the widest layers"
    if in_memory is not None:
        least = f"in a file, and {_size(in_memory)} of memory at least"
        frontier, kept = f"{_size(row['disk_of_frontier'])} {least}", depths and f"{_size(depths)} {least}"
    told = {
        "puzzle": row["puzzle"],
        "start": None if whole else row["start"],
        "configurations": row["expected"] if known else f"more than {row['configurations']:,}, how many is not known",
        "goal": row["goal"] or None,
        "nearest goal": None if whole else nearest_goal(row, row["goal"] is not None),
        "memory": f"{_size(row['memory'])} at most",
        "disk": f"{_size(row['disk'])}, {free}" if known else free,
        "--keep frontier": frontier,
        "--keep depths": kept,
        "time": f"{clock(row['seconds'])} by one thread" if known else None,
    }  # fmt: skip
    stdout().print(facts(told))


def _size(value: int) -> str:
    return f"{value / 1e9:,.1f} GB" if value >= 1e9 else f"{value / 1e6:,.1f} MB"


@command_line("enqueue klotski -o metric=finger --redis redis://127.0.0.1:6379/0")
def enqueue(wanted: Wanted, search: QueuedInTurn) -> None:
    """Queue a run for the coordinator and return at once."""
    kind, asked = wanted.request()
    start_run(asked, kind, search, queue=True, name=wanted.name, reuse=wanted.reuse)


@command_line("resume last")
def resume(
    name: str = shared.RUN,
    options: list[str] | None = shared.PUZZLE_OPTIONS,
    puzzle: str | None = parameter("--puzzle", "PUZZLE", "Refuse unless the run is of this puzzle."),
    start: str | None = parameter("--from", "CONF|FILE", "Refuse unless the run started here."),
    repair: bool = flag("--repair", "Compute damaged layers again and check their digests."),
    wide: bool = shared.WIDE,
    *,
    search: LayersHere,
) -> None:
    """Continue a stopped run from its last commit.

    With -o, --from or --puzzle, refuses a run that has another option, start or puzzle.
    """
    from hakoiri.coordinator.runs.create import pinned_spec, require_puzzle, require_same

    directory = find_run(data_directory(search.data), name)
    with Ledger(directory) as ledger:
        manifest, was_complete = ledger.manifest, ledger.state.status == "complete"
    if puzzle is not None:
        require_puzzle(manifest, shared.own_spec(puzzle))
    admit(directory)
    begun = None if start is None else read_board(start, pinned_spec(manifest).are_starts)
    require_same(manifest, parse_options(options or []), begun)
    if was_complete:
        stderr().print(f"{directory.name} was complete already")
    drive_and_report(directory, search.reachable, search.json, repair, wide=wide)


@command_line("collect last --redis redis://127.0.0.1:6379/0")
def collect(
    name: str = shared.RUN, redis: str | None = shared.REDIS_URL, puzzle: str | None = shared.OWN_FILE,
    data: Path | None = shared.DATA, json: bool = shared.JSON,
) -> None:  # fmt: skip
    """Copy a run from the hosts that keep it to this machine.

    Copies the layers, the components and the goal distances of the run, and checks each layer by its digest. Then the
    hosts delete their parts.
    """
    from hakoiri.coordinator.runs.hosted import collect_run

    directory = find_run(data_directory(data), name)
    admit(directory, puzzle)
    with answering("; layers copied so far are kept, run the same command again to continue") as (control, progress):
        kept = [each for each in (directory, *belonging_to(directory)) if keepers_of(each)] or [directory]
        layers = {each.name: collect_run(each, shared.required_redis(redis), control, progress) for each in kept}
    if json:
        print_json({"run": directory.name, "layers": layers.pop(directory.name, 0), "belonging": layers})
    for run, count in {} if json else layers.items():
        stdout().print(Text(f"copied {counted(count, 'layers')} of {run}; no host keeps any of it"))


@command_line("drain host-a-dd71f1 --redis redis://127.0.0.1:6379/0")
def drain(
    host: str = parameter("", "HOST", "Name of the host, as 'hakoiri health' shows it."),
    redis: str | None = shared.REDIS_URL, puzzle: str | None = shared.OWN_FILE,
    data: Path | None = shared.DATA, json: bool = shared.JSON,
) -> None:  # fmt: skip
    """Move all that a host keeps to the other hosts.

    Then no run needs the host, until you start it again. If the host is away, the others use their copies ('run
    --copies 2'). A run in progress moves its ranges as soon as it can. A whole space whose ranges have moved is
    interrupted; 'hakoiri resume' finds its components again.
    """
    from hakoiri.coordinator.runs.hosted import drain_run, leave_out, runs_kept_by

    url = shared.required_redis(redis)
    kept = runs_kept_by(data_directory(data), host)
    leave_out(host, url, kept)
    with answering("; ranges moved so far are kept, run the same command again to continue") as (control, progress):
        for directory in kept:
            admit(directory, puzzle)
            drain_run(directory, host, url, control, progress)
    if json:
        print_json({"host": host, "runs": [directory.name for directory in kept]})
    else:
        stdout().print(Text(f"{host} keeps nothing of {counted(len(kept), 'runs')}; you can stop it"))


#: The remedy if no repair helps, by the cause of the faults that `verify` has found.
_MENDING = {
    "puzzle": "the puzzle is wrong, not the file, so no repair helps: mend its rules, then start a new run",
    "unknown": "every checksum is right, so no repair helps: start a new run; if that is not sound, mend the puzzle",
}


@command_line("verify last --full")
def verify(
    name: str = parameter(
        "", "RUN|FILE.json", "Name of a run, or certificate of hakoiri export or hunt.", autocompletion=runs_beginning
    ),
    full: bool = flag("--full", "Check every configuration, not a sample; takes longer."),
    seed: int | None = parameter("--seed", "S", "Seed of the sample.", "a random one", min=0, max=MOST_SEED),
    puzzle: str | None = shared.OWN_FILE,
    *,
    work: Work,
) -> None:
    """Check a run or a certificate by deriving it again.

    Uses the reference rules of the puzzle. Lists all faults, and exits with code 1 if there are any.
    """
    from hakoiri.coordinator.runs.certificate import SUFFIX, verify_file
    from hakoiri.coordinator.runs.verify import verify_directory

    certified = name.endswith(SUFFIX)
    resources = work.reachable
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
    from hakoiri.rows.runs import report_row

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
