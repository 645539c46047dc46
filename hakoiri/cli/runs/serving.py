"""``coordinator`` and ``health``: the service."""

import os
from typing import Annotated

import typer

from hakoiri.cli.options import DataOption, JsonOption, MemoryOption, RedisOption, redis_flag, required_redis
from hakoiri.puzzles.errors import Step, counted
from hakoiri.render.tables import print_json, stderr, stdout
from hakoiri.rows.hosts import host_rows
from hakoiri.steps import worded
from hakoiri.storage.ledger.manifest import local_time


def coordinator(
    redis: RedisOption = None,
    threads: Annotated[
        bool, typer.Option("--threads", help="Drive them by threads of this process: no Redis, no workers.")
    ] = False,
    data: DataOption = None,
    memory: MemoryOption = None,
    burst: Annotated[bool, typer.Option("--burst", help="End when no queued run is left.")] = False,
    json: JsonOption = False,
) -> None:
    """Take queued runs, the oldest first, and drive each to its end with the workers on Redis, or by --threads."""
    from hakoiri.cli.driving import stopping_with
    from hakoiri.coordinator.runs.catalogue import data_directory
    from hakoiri.coordinator.runs.service import serve
    from hakoiri.coordinator.session.resources import Resources
    from hakoiri.coordinator.session.session import Control
    from hakoiri.render.progress import ProgressLine
    from hakoiri.storage.engine.environment import require_writable
    from hakoiri.worker.transport.connection import connect, without_password

    if threads and redis:
        raise typer.BadParameter("--threads goes with no --redis: leave one of them out")
    url, where, console, control = None if threads else required_redis(redis), data_directory(data), stderr(), Control()
    require_writable(where)
    connection = None if url is None else connect(url)
    resources = Resources(redis=url, memory=memory)
    log(f"coordinator ready: runs in {where}, {f'workers at {without_password(url)}' if url else 'by threads'}")
    with stopping_with(control.interrupt):
        ends = serve(where, resources, connection, control, lambda: ProgressLine(console), log, burst)
    log("coordinator stopped")
    if json:
        print_json({"runs": [end._asdict() for end in ends]})


def health(
    redis: RedisOption = None,
    data: DataOption = None,
    workers: Annotated[int, typer.Option(min=0, metavar="N", help="How many workers must be alive at least.")] = 1,
    json: JsonOption = False,
) -> None:
    """Tell whether Redis answers, a worker lives, and a coordinator serves the data directory, which can be written.

    For containers: exit code 1 where it is not so. Only workers are asked for where neither --data nor HAKOIRI_DATA
    names a directory.
    """
    from hakoiri.cli.driving import no_coordinator
    from hakoiri.coordinator.errors import RunError
    from hakoiri.coordinator.runs.catalogue import data_directory
    from hakoiri.storage.engine.environment import require_writable
    from hakoiri.storage.ledger.lock import is_served
    from hakoiri.worker.transport.connection import connect, living_workers

    hosts, served, missing = host_rows(living_workers(connect(required_redis(redis)))), None, []
    living = sum(host["workers"] for host in hosts)
    if living < workers:
        alive = f"{counted(living, 'workers')} alive, {workers} wanted" if living else "no worker is alive"
        missing.append(f"{alive}: start some with: hakoiri worker -n 4{redis_flag(redis)}")
    if data is not None or os.environ.get("HAKOIRI_DATA"):
        where = data_directory(data)
        require_writable(where)
        served = is_served(where)
        if not served:
            missing.append(no_coordinator(where, redis))
    if json:
        print_json({"ok": not missing, "workers": living, "coordinator": served, "hosts": hosts})
    if missing:
        raise RunError("; ".join(missing))
    if not json:
        taken = ", a coordinator serves" if served else ""
        known = "" if served else "; whether a coordinator serves a data directory is asked with --data DIR"
        stdout().print(f"ok: Redis answers{taken}, {counted(living, 'workers')} alive{known}")
        for host in hosts if len(hosts) > 1 or any(host["data_redis"] for host in hosts) else []:
            depot = f", data Redis at {', '.join(host['data_redis'])}" if host["data_redis"] else ""
            stdout().print(f"{host['host']}: {counted(host['workers'], 'workers')}{depot}")


def log(text: str, *steps: Step) -> None:
    """A line with its time, for people and log collectors."""
    stderr().print(f"{local_time()} {worded(text, steps)}")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: hakoiri coordinator --redis redis://127.0.0.1:6379/0 --data runs")(coordinator)
    app.command(epilog="Example: hakoiri health --redis redis://127.0.0.1:6379/0 --data runs")(health)
