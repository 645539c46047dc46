"""Runs driven or queued by commands, and the groups of options that these commands share.

A group is a dataclass, the type of one parameter of a command; `hakoiri.cli.options.ungrouped` gives typer its options
in place of that parameter. On Ctrl-C, SIGTERM and SIGHUP the work stops at its next safe point; a second Ctrl-C stops
at once.
"""

import os
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from rich.text import Text

from hakoiri.cli import options as shared
from hakoiri.cli.options import TEAM, redis_flag, redis_url
from hakoiri.coordinator.errors import StoppedError, StopRun
from hakoiri.coordinator.runs.catalogue import LAST, data_directory, find_run, last_twin, runs_like
from hakoiri.coordinator.runs.kinds import kind_of
from hakoiri.coordinator.runs.summary import summarise
from hakoiri.errors import Hint, PuzzleError, RedisUnavailableError, WorkerError
from hakoiri.hints import command, named, worded
from hakoiri.parameters import parameter
from hakoiri.render.progress import ProgressLine, compiling_text, expanded_text, progress_text, shown_progress
from hakoiri.render.streams import unread
from hakoiri.render.tables import facts, facts_of, print_json, rows_table, stderr, stdout
from hakoiri.storage.ledger.lock import is_served
from hakoiri.worker.machine import SUPERVISOR

if TYPE_CHECKING:
    from hakoiri.coordinator.session.job import Job, Request
    from hakoiri.coordinator.session.resources import Resources
    from hakoiri.coordinator.session.session import Control


@dataclass(frozen=True)
class QueryOptions:
    """Options of commands that query a run."""

    memory: int | None = shared.MEMORY
    puzzle: str | None = shared.OWN_FILE
    data: Path | None = shared.DATA
    json: bool = shared.JSON


class _WithResources:
    @property
    def resources(self) -> "Resources":
        from hakoiri.coordinator.session.resources import Resources

        given = {name: value for name, value in vars(self).items() if name in {each.name for each in fields(Resources)}}
        return Resources(**given | {"redis": redis_url(given["redis"])})

    @property
    def reachable(self) -> "Resources":
        """The same, without a Redis that only HAKOIRI_REDIS names and that does not answer: threads go on."""
        found = self.resources
        if found.redis is None or vars(self)["redis"] or found.hosts not in (None, -1):
            return found
        # Called late because it imports redis.
        from hakoiri.worker.transport.connection import connect

        try:
            connect(found.redis).close()
        except RedisUnavailableError as error:
            stderr().print(Text(f"{error}; going on by threads, --redis URL would insist"), soft_wrap=True)
            return replace(found, redis=None)
        return found


@dataclass(frozen=True)
class Driving(_WithResources):
    """Options of commands that drive or queue a run."""

    data: Path | None = shared.DATA
    redis: str | None = shared.REDIS_URL
    memory: int | None = shared.MEMORY
    json: bool = shared.JSON


@dataclass(frozen=True)
class QueryWithWorkers(QueryOptions, _WithResources):
    """Options of commands that query a run with the help of workers."""

    redis: str | None = shared.REDIS_URL


@dataclass(frozen=True)
class Queued:
    """Options of a question that a run of its own may answer."""

    queue: bool = shared.QUEUE
    puzzle: str | None = shared.OWN_FILE


@dataclass(frozen=True)
class Work(Driving):
    """Options of work that divides itself into chunks."""

    workers: int | None = parameter(
        "--workers", "N", "Number of threads; with --redis, of workers to start for this run.",
        "one per core; with --redis none", min=1, rich_help_panel=TEAM,
    )  # fmt: skip


@dataclass(frozen=True)
class Layers(Driving):
    """Options of a search by layers that a coordinator drives."""

    chunk: int | None = parameter(
        "--chunk", "N", "Configurations per chunk.", "fitted to the work", min=1, rich_help_panel=TEAM
    )
    farm: Any = parameter(
        "--farm", "auto|always|never|N",
        "Send chunks to workers (--redis), or for rules in plain Python to child processes, if that is faster than "
        "the work on them; always; never; or always those of layers of N or more configurations.",
        "auto", parser=shared.parse_farm, rich_help_panel=TEAM,
    )  # fmt: skip
    deadline: float | None = parameter(
        "--deadline", "SECONDS",
        "If a chunk takes longer than this, send it to a second worker too; a child process is replaced.",
        "60; deals 900", min=0.1, rich_help_panel=TEAM,
    )  # fmt: skip
    audit: float | None = parameter(
        "--audit", "SHARE",
        "Check this share of the chunks of workers or child processes by computing them again here, e.g. 0.1%.", "none",
        parser=shared.parse_share, rich_help_panel=TEAM,
    )  # fmt: skip


@dataclass(frozen=True)
class QueuedLayers(Layers):
    """Options of a queued search by layers that hosts may keep."""

    hosts: int | None = parameter(
        "--hosts", "N|all|none", "With --redis: let N hosts keep the run (worker --store).",
        "all, if they have twice the threads of this process", parser=shared.parse_hosts, rich_help_panel=TEAM,
    )  # fmt: skip
    copies: int | None = parameter(
        "--copies", "1|2", "Hosts that keep each part; with 2, the loss of a disk loses nothing.", "1", min=1, max=2,
        rich_help_panel=TEAM,
    )  # fmt: skip


@dataclass(frozen=True)
class QueuedInTurn(QueuedLayers):
    """Options of a search by layers that is always queued."""

    priority: int | None = parameter(
        "--priority", "N", "Begin before queued runs of a lower priority.", "0", min=-1000, max=1000
    )


@dataclass(frozen=True)
class LayersHere(QueuedLayers, Work):
    """Options of a search by layers that this process drives."""


@dataclass(frozen=True)
class ChunksOfOwnRun(Work, Queued):
    """Options of a question that a run of chunks may answer."""


@dataclass(frozen=True)
class LayersOfOwnRun(LayersHere, Queued):
    """Options of a question that a search by layers may answer."""


#: Called with the job of a complete run and the control of the command; returns further fields of the report.
Finish = Callable[[Any, "Control"], dict[str, Any]]
#: The interval at which the parent process is checked.
_LOOK_SECONDS = 0.2
#: The most boards drawn.
_DRAWN = 12
_ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Received:
    """The signal received, if any."""

    number: signal.Signals | None = None

    @property
    def exit_code(self) -> int:
        """The exit code: 128 plus the signal's number, as in shells; 1 if no signal stopped the work."""
        return 128 + self.number if self.number is not None else 1


def follow_supervisor() -> None:
    """Interrupt this process, as by Ctrl-C, once its parent HAKOIRI_SUPERVISOR is gone, if it has one."""
    if (parent := os.environ.get(SUPERVISOR)) is None:
        return

    def watch() -> None:
        while os.getppid() == int(parent):
            time.sleep(_LOOK_SECONDS)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=watch, name="supervisor", daemon=True).start()


@contextmanager
def stopping_with(ask: Callable[[str], None]) -> Iterator[Received]:
    """While the block runs, a signal calls ``ask("stopped by SIGINT")`` instead of ending the process.

    IMPORTANT: `ask` may be called while this thread holds any lock, so it must take none that is not reentrant, such as
    that of a `threading.Event`.
    """
    received = Received()

    def handle(number: int, _: FrameType | None) -> None:
        received.number = signal.Signals(number)
        signal.signal(signal.SIGINT, before[signal.SIGINT])
        ask(f"stopped by {received.number.name}")

    before = {number: signal.getsignal(number) for number in _ASKING}
    try:
        for number in _ASKING:
            # A command started by nohup outlives its terminal.
            if number != signal.SIGHUP or before[number] != signal.SIG_IGN:
                signal.signal(number, handle)
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def answering(otherwise: str) -> Iterator[tuple["Control", ProgressLine]]:
    """Yield the control of a question, which a signal stops, and an observer that shows its progress.

    If the question stops, print the reason and then `otherwise`, and exit the command.
    """
    from hakoiri.coordinator.session.session import Control

    control = Control()
    with stopping_with(control.interrupt) as received:
        try:
            with shown_progress(stderr()) as progress:
                yield control, progress
        except StopRun as stop:
            stderr().print(Text(f"{stop.reason}{otherwise}"), soft_wrap=True)
            raise typer.Exit(received.exit_code) from None
        except StoppedError as stopped:
            _exit_stopped(stopped, received)


def start_run(
    asked: "Request", kind: str | None, work: "Driving", *, queue: bool = False, finish: Finish | None = None,
    name: str | None = None, reuse: bool = False, wide: bool = False,
) -> None:  # fmt: skip
    """Create a run (`coordinator.runs.create`), and drive it here or queue it for a coordinator.

    If a complete run has done the same, print a note, or with `reuse` take that run.
    """
    from hakoiri.coordinator.runs.create import make_planned, plan_run

    if reuse and name is not None:
        raise PuzzleError("--name and --reuse cannot be combined")
    again, where = kind is not None and kind_of(kind).named_by_plan, data_directory(work.data)
    resources = work.resources if queue else work.reachable
    manifest = plan_run(where, asked.spec, kind, asked.plan, resources, name)
    twin = None if again else last_twin(where, manifest, "complete")
    if twin is not None:
        if reuse:
            drive_and_report(where / twin, resources, work.json, wide=wide)
            return
        stderr().print(Text(f"run {twin} did the same and is complete; --reuse uses it instead of a new run"))
    if not queue and not again:
        # Before the run is created, so that a missing server leaves nothing behind. An existing run may have nothing
        # left to do.
        require_redis(resources)
    directory = make_planned(where, manifest, queue, asked.limits)
    if queue:
        report_queued(directory, resources.redis, work.json)
    else:
        drive_and_report(directory, resources, work.json, finish=finish, wide=wide)


def require_redis(resources: "Resources") -> None:
    """Raise `WorkerError` if the Redis of a run does not answer, or if hosts are to keep it and none is named."""
    if resources.redis is not None:
        from hakoiri.worker.transport.connection import connect

        connect(resources.redis).close()
    elif resources.hosts not in (None, -1) or (resources.copies or 1) > 1:
        raise WorkerError("hosts need a Redis", Hint("change", "redis"), Hint("leave out", "hosts"))


def refuse_with_queue(queue: bool, files: Mapping[str, Path | None]) -> None:
    """Raise `PuzzleError` for output files of a queued run: the coordinator would not write them."""
    for flag in (name for name, path in files.items() if queue and path is not None):
        raise PuzzleError(
            f"{flag} and --queue cannot be combined; repeat the command without --queue when the run is complete"
        )


def report_queued(directory: Path, redis: str | None, json: bool) -> None:
    """Wake an idle coordinator if Redis is named; print the name of the run, and a warning if none serves."""
    if redis is not None:
        from hakoiri.coordinator.runs.service import wake
        from hakoiri.worker.transport.connection import connect

        try:
            wake(connect(redis), redis)
        except WorkerError as error:
            stderr().print(f"queued, but no coordinator could be woken: {worded(error, error.hints)}", style="dim")
    served = is_served(directory.parent)
    if json:
        print_json({"run": directory.name, "status": "queued", "served": served})
    else:
        watch = command("status --watch", named(directory))
        stdout().print(Text(f"queued as {directory.name}; watch it with: {watch}"), soft_wrap=True)
    if not served:
        stderr().print(Text(no_coordinator(directory.parent, redis)))


def no_coordinator(data: Path, redis: str | None = None) -> str:
    """Return the warning that no coordinator serves a data directory, with the command to start one."""
    way = redis_flag(redis) if redis_url(redis) else " --threads"
    return f"no coordinator serves {data}: start one with: hakoiri coordinator --data {shlex.quote(str(data))}{way}"


def drive_and_report(
    directory: Path, resources: "Resources", json: bool, repair: bool = False, finish: Finish | None = None,
    wide: bool = False,
) -> None:  # fmt: skip
    """Drive a run to its end and print its results; exit the command if it is not complete."""
    from hakoiri.coordinator.runs.create import open_job
    from hakoiri.coordinator.runs.drive import drive_to_end
    from hakoiri.coordinator.runs.opening import open_store
    from hakoiri.coordinator.session.session import Control

    control, stopped = Control(), None
    with stopping_with(control.interrupt) as received:
        with shown_progress(stderr()) as progress:
            try:
                drive_to_end(directory, resources, control, progress, repair)
            except StoppedError as error:
                stopped = error
        with unread(stopped is not None):
            with open_store(directory, resources.redis) as store:
                job = open_job(store, resources)
                summary = summarise(job, resources.over(store.manifest.settings).budget())
                summary["reason"] = worded(store.state.reason, store.state.hints)
                if finish is not None and stopped is None:
                    summary |= finish(job, control)
                if not json:
                    _print_summary(job, summary, wide)
                if hosts := store.keepers():
                    home = worded(f"its layers are kept by {', '.join(hosts)}", [Hint("collect", directory.name)])
                    stderr().print(Text(home), soft_wrap=True)
            # After the run is closed, because its file is read among the others.
            compared = job.compare(store.manifest, lambda: runs_like(directory.parent, store.manifest))
            if json:
                print_json(summary | ({compared.name: compared.rows} if compared else {}))
            elif compared and len(compared.rows) > 1:
                stdout().print()
                stdout().print(rows_table(compared.rows))
    if stopped is not None:
        _exit_stopped(stopped, received)


def _exit_stopped(stopped: StoppedError, received: Received) -> NoReturn:
    """Print how a run stopped and how it is continued, and exit the command."""
    stderr().print(Text(f"{stopped.status}: {worded(stopped.reason, stopped.hints)}"))
    raise typer.Exit(received.exit_code)


def _expanded(work_log: Mapping[str, Any]) -> str | None:
    if not work_log:
        return None
    from hakoiri.rows.runs import work_log_row

    row = work_log_row(work_log)
    return expanded_text(row) or None if row else None


def _print_summary(job: "Job", summary: dict[str, Any], wide: bool) -> None:
    """Print a run for people, with the full digest if `wide`."""
    console, complete = stdout(), summary["status"] == "complete"
    # A resumed or reused run need not be the one created last.
    last = find_run(job.store.directory.parent, LAST).name
    run = named(job.store.directory, LAST if summary["run"] == last else summary["run"])
    summary = summary | {"parameters": {name: value for name, value in summary["parameters"].items() if value}}
    limits = [name for name in ("merge_mirrors", "until_goal") if summary[name]]
    plan = job.store.manifest.plan
    limits += [f"{name}={plan[name]}" for name in ("layers", "most") if name in plan]
    summary |= {"with": " ".join(limits).replace("_", "-")}
    summary |= {"start": ", ".join(summary["starts"].splitlines())} if job.puzzle.several_starts else {}
    common = {name: summary[name] or None for name in ("run", "puzzle", "parameters", "start", "with", "status")}
    progress = None if complete else progress_text(job.store.state.progress)
    made = {"expanded": _expanded(job.store.state.work_log)}
    found = {"progress": progress} | facts_of(job, summary) | made | {"digest": summary["digest"] or None}
    # Not wrapped: a play of thousands of moves can be copied in one piece.
    times = {"compiling": compiling_text(summary["compiling"]), "computing": f"{summary['seconds']:.3f} s"}
    console.print(facts(common | found | times, wide), soft_wrap=True)
    for table in job.tables():
        console.print()
        if table.title:
            console.print(Text(table.title, "bold"))
        console.print(rows_table(table.rows))
        if table.rest:
            how = f": {command(table.ask, run)}" if table.ask else ""
            console.print(Text(f"and {table.rest}{how}", "dim"), soft_wrap=True)
    if boards := job.boards()[:_DRAWN]:
        from hakoiri.render.images import print_boards

        console.print()
        print_boards(console, job.puzzle, boards)
    if complete:
        commands = ", ".join(command(question, run) for question in [*job.questions(), "verify"])
        console.print(Text(f"now ask: {commands}", "dim"), soft_wrap=True)
