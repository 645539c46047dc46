"""The commands ``coordinator`` and ``health``."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.text import Text

from hakoiri.cli import options as shared
from hakoiri.cli.commands import command_line, flag, option
from hakoiri.hints import worded
from hakoiri.puzzles.errors import Hint, counted
from hakoiri.render.streams import unread
from hakoiri.render.tables import print_json, stderr, stdout
from hakoiri.rows.hosts import living_rows
from hakoiri.storage.ledger.manifest import local_time


@command_line("coordinator --redis redis://127.0.0.1:6379/0 --data runs")
def coordinator(
    redis: shared.RedisOption = None,
    threads: Annotated[bool, flag("--threads", "Use threads of this process, without Redis and workers.")] = False,
    puzzles: shared.OwnFilesOption = None,
    data: shared.DataOption = None,
    memory: shared.MemoryOption = None,
    burst: Annotated[bool, flag("--burst", "Exit when no queued run is left.")] = False,
    json: shared.JsonOption = False,
) -> None:
    """Drive queued runs, the oldest first, each to its end.

    RQ workers on --redis take chunks of layers whose rules are slow, of all layers with 'enqueue --farm always', and of
    other work. Threads of this process expand the other layers, and everything with --threads. Hosts expand the runs
    that they keep.
    """
    from hakoiri.cli.driving import stopping_with
    from hakoiri.coordinator.runs.catalogue import data_directory
    from hakoiri.coordinator.runs.service import serve
    from hakoiri.coordinator.session.resources import Resources
    from hakoiri.coordinator.session.session import Control
    from hakoiri.render.progress import ProgressLine
    from hakoiri.storage.engine.disk import require_writable
    from hakoiri.worker.transport.connection import connect, without_password

    if threads and redis:
        raise typer.BadParameter("--threads and --redis cannot be combined")
    url, where, console, control = (
        None if threads else shared.required_redis(redis),
        data_directory(data),
        stderr(),
        Control(),
    )
    require_writable(where)
    named_files(puzzles)
    connection = None if url is None else connect(url)
    resources = Resources(redis=url, memory=memory)
    log(f"coordinator ready: runs in {where}, {f'workers at {without_password(url)}' if url else 'by threads'}")
    with stopping_with(control.interrupt):
        ends = serve(where, resources, connection, control, lambda: ProgressLine(console), log, burst)
    log("coordinator stopped")
    if json:
        print_json({"runs": [end._asdict() for end in ends]})


@command_line("health --redis redis://127.0.0.1:6379/0 --data runs")
def health(
    redis: shared.RedisOption = None,
    data: shared.DataOption = None,
    workers: Annotated[
        int | None,
        option(
            "--workers", "N", "Require at least N live workers.", min=0, usual="1; none for a coordinator --threads"
        ),
    ] = None,
    json: shared.JsonOption = False,
) -> None:
    """Check that the service works; exit with code 1 if not.

    Checks that Redis answers, that workers are alive, and that a coordinator serves the data directory if --data or
    HAKOIRI_DATA names it. A coordinator with --threads needs no Redis and no workers. Then the data directory is
    enough, unless you give --redis or --workers.
    """
    from hakoiri.coordinator.errors import RunError
    from hakoiri.coordinator.runs.catalogue import data_directory
    from hakoiri.storage.engine.disk import require_writable

    # A container of workers has HAKOIRI_REDIS and no data directory.
    named = data is not None or os.environ.get("HAKOIRI_DATA")
    where = data_directory(data) if named or shared.redis_url(redis) is None else None
    if where is not None:
        require_writable(where)
    found = _health(where, redis, workers)
    if json:
        living = _living(found.hosts)
        checked = {"ok": not found.missing, "coordinator": found.served}
        row = checked | {"workers": living, "hosts": found.hosts, "keepers": found.keepers}
        with unread(bool(found.missing)):
            print_json(row)
    if found.missing:
        raise RunError("; ".join(found.missing))
    if not json:
        stdout().print(Text(f"ok: {found.words}"))
        for host in found.hosts if len(found.hosts) > 1 else []:
            stdout().print(f"{host['host']}: {counted(host['workers'], 'workers')}")
        for host in found.keepers:
            stdout().print(f"{host['host']}: {counted(host['threads'], 'threads')}, keeps runs")


class _Health(NamedTuple):
    """State of the service: what is missing, and otherwise its description; `served` is ``None`` if not checked."""

    missing: list[str]
    words: str
    hosts: list[dict[str, Any]]
    served: bool | None
    #: The hosts that keep runs, with their threads.
    keepers: Sequence[dict[str, Any]] = ()


def _health(where: Path | None, redis: str | None, workers: int | None) -> _Health:
    """Check a data directory, and Redis unless a coordinator works without it; `redis` and `workers` as given."""
    from hakoiri.cli.driving import no_coordinator
    from hakoiri.storage.ledger.lock import is_served

    served = None if where is None else is_served(where)
    if where is not None and redis is None and workers is None:
        if is_served(where, by_threads=True):
            return _Health([], f"a coordinator serves {where} by threads, without Redis", [], served)
        if shared.redis_url(redis) is None:
            with_redis = f"the coordinator of {where} works with Redis: name its server with --redis URL"
            return _Health([with_redis if served else no_coordinator(where)], "", [], served)
    missing, (hosts, keepers) = [], living_rows(shared.required_redis(redis))
    least = (not keepers) if workers is None else workers
    if (living := _living(hosts)) < least:
        alive = f"{counted(living, 'workers')} alive, {least} wanted" if living else "no worker is alive"
        missing.append(f"{alive}: start some with: hakoiri worker -n 4{shared.redis_flag(redis)}")
    if where is not None and not served:
        missing.append(no_coordinator(where, redis))
    taken = ", a coordinator serves" if served else ""
    unknown = "" if served else "; the coordinator was not checked: name its data directory with --data DIR"
    kept = f", {counted(len(keepers), 'hosts')} that keep{'s' if len(keepers) == 1 else ''} runs" if keepers else ""
    words = f"Redis answers{taken}, {counted(living, 'workers')}{kept} alive{unknown}"
    return _Health(missing, words, hosts, served, keepers)


def _living(hosts: list[dict[str, Any]]) -> int:
    return sum(host["workers"] for host in hosts)


def named_files(words: list[str] | None) -> list[Path]:
    """Load the puzzle files that the user and the environment name to a service, and log the puzzles.

    Returns the files. Errors are raised here, before the service starts.
    """
    from hakoiri.admission import admitted
    from hakoiri.puzzles.user.files import configured_files, known

    specs = admitted(words or []).values()
    for spec in specs:
        log(f"puzzle {spec.name}, digest {spec.digest[:12]}")
    return list(dict.fromkeys([*configured_files(), *(known(spec.name, spec.digest).path for spec in specs)]))


def log(text: str, *hints: Hint) -> None:
    """Print a line with its time, for people and log collectors."""
    stderr().print(f"{local_time()} {worded(text, hints)}")
