"""``coordinator`` and ``health``: the service."""

import os
import threading
import time
from collections.abc import Callable
from typing import Annotated, Any

import typer

from hakoiri.cli.options import DataOption, JsonOption, MemoryOption, RedisOption, redis_flag, required_redis
from hakoiri.render.tables import print_json, stderr, stdout
from hakoiri.steps import worded
from puzzles.errors import Step, counted
from storage.ledger.manifest import local_time

#: How often the process that started this one is looked for.
_LOOK_SECONDS = 0.2


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
    from coordinator.runs.catalogue import data_directory
    from coordinator.runs.service import serve
    from coordinator.session.resources import Resources
    from coordinator.session.session import Control
    from hakoiri.cli.driving import stopping_with
    from hakoiri.render.progress import ProgressLine
    from storage.engine.environment import require_writable
    from worker.transport.connection import connect, without_password

    if threads and redis:
        raise typer.BadParameter("--threads goes with no --redis: leave one of them out")
    url, where, console, control = None if threads else required_redis(redis), data_directory(data), stderr(), Control()
    require_writable(where)
    connection = None if url is None else connect(url)
    resources = Resources(redis=url, memory=memory)
    log(f"coordinator ready: runs in {where}, {f'workers at {without_password(url)}' if url else 'by threads'}")
    _follow_supervisor(control.interrupt)
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
    from coordinator.errors import RunError
    from coordinator.runs.catalogue import data_directory
    from hakoiri.cli.driving import no_coordinator
    from storage.engine.environment import require_writable
    from storage.ledger.lock import is_served
    from worker.transport.connection import connect, living_workers

    hosts, served, missing = _hosts(living_workers(connect(required_redis(redis)))), None, []
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


def _hosts(living: dict[str, str]) -> list[dict[str, Any]]:
    """The hosts of living workers: their names, how many workers each has, in which data Redis these leave pieces."""
    from worker.transport.connection import host_of, without_password

    found: dict[str, list[str]] = {}
    for worker in sorted(living):
        found.setdefault(host_of(worker), []).append(living[worker])
    return [
        {"host": host, "workers": len(urls), "data_redis": sorted({without_password(url) for url in urls if url})}
        for host, urls in found.items()
    ]


def log(text: str, *steps: Step) -> None:
    """A line with its time, for people and log collectors."""
    stderr().print(f"{local_time()} {worded(text, steps)}")


def _follow_supervisor(ask: Callable[[str], None]) -> None:
    """Have ``ask`` called once the process is gone that started this one to be its helper (HAKOIRI_SUPERVISOR)."""
    if (parent := os.environ.get("HAKOIRI_SUPERVISOR")) is None:
        return

    def watch() -> None:
        while os.getppid() == int(parent):
            time.sleep(_LOOK_SECONDS)
        ask("its server is gone")

    threading.Thread(target=watch, name="supervisor", daemon=True).start()


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: hakoiri coordinator --redis redis://127.0.0.1:6379/0 --data runs")(coordinator)
    app.command(epilog="Example: hakoiri health --redis redis://127.0.0.1:6379/0 --data runs")(health)
