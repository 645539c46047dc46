"""The command ``worker``: processes that work for runs, or a host that keeps ranges of them, with its data Redis."""

import math
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import typer

from hakoiri.cli import options as shared
from hakoiri.cli.driving import stopping_with
from hakoiri.cli.options import command_line
from hakoiri.cli.runs.serving import named_files
from hakoiri.errors import RedisRefusedError, RedisUnavailableError, counted
from hakoiri.logs import log, set_up
from hakoiri.memory import TABLES, available_memory
from hakoiri.parameters import parameter
from hakoiri.render.tables import print_json
from hakoiri.worker.machine import WORKER_BYTES, cores_for_workers

if TYPE_CHECKING:
    import redis

    from hakoiri.worker.transport.data_redis import DataRedis

#: A data Redis that is started here takes one part in this many of the free memory.
_MEMORY_PART = 4
#: The least memory of a data Redis: less has no room for some messages.
_LEAST_DATA_MEMORY = 16 << 20
AUTO = "auto"
_RETRY_SECONDS = 0.2


def parse_until(text: str) -> float:
    """Return a future time in terms of `time.monotonic`: ``+90m``, ``08:00``, ISO 8601 or Unix seconds."""
    if text.startswith("+"):
        return time.monotonic() + shared.parse_time(text[1:])
    now = datetime.now().astimezone()
    try:
        if re.fullmatch(r"\d{10,11}", text):
            at = datetime.fromtimestamp(int(text)).astimezone()
        elif re.fullmatch(r"\d\d:\d\d(:\d\d)?", text):
            today = datetime.fromisoformat(f"{now:%Y-%m-%d}T{text}")
            at = (today + timedelta(days=today.astimezone() <= now)).astimezone()
        else:
            at = datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError):
        written = "+90m, 08:00, 2030-01-31T08:00 or Unix seconds"
        raise typer.BadParameter(f"{text!r} is not a time; expected {written}") from None
    if at <= now:
        raise typer.BadParameter(f"{text} has passed")
    return time.monotonic() + shared.parse_time(f"{(at - now).total_seconds():.3f}s")


@command_line("worker --redis redis://127.0.0.1:6379/0 -n 4 --store /var/lib/hakoiri --data-redis auto")
def worker(
    redis: str | None = shared.REDIS_URL,
    processes: str = parameter(
        "-n", "N|auto", "Number of processes, or of threads of a host; auto: one per core.", default="1"
    ),
    store: Path | None = parameter(
        "--store", "DIR", "Be a host: keep parts of runs in this directory.", "none", parser=shared.parse_directory
    ),
    puzzles: list[str] | None = shared.OWN_FILES,
    data_redis: str | None = parameter(
        "--data-redis", "URL|auto", "With --store: Redis for the messages to this host; auto starts one.",
        "$HAKOIRI_DATA_REDIS, else that of --redis",
    ),
    data_host: str | None = parameter(
        "--data-host", "ADDRESS", "With auto: address at which other hosts reach this one.", "the one that faces Redis"
    ),
    data_memory: int | None = parameter(
        "--data-memory", "SIZE", "With auto: its memory limit, 16MB or more.", "a quarter of what is free",
        parser=lambda text: shared.parse_memory(text, _LEAST_DATA_MEMORY),
    ),
    until: float | None = parameter(
        "--until", "TIME",
        "Stop by this time, and start nothing that takes longer: +90m, 08:00, 2030-01-31T08:00 or Unix seconds.",
        "never", parser=parse_until,
    ),
    metrics_port: int | None = shared.METRICS_PORT,
    metrics_host: str = shared.METRICS_HOST,
    log_format: str = shared.LOG_FORMAT,
    json: bool = shared.JSON,
) -> None:  # fmt: skip
    """Start worker processes and keep them alive until Ctrl-C.

    Workers take chunks of any run from Redis and keep nothing. With --store DIR this is a host instead, which keeps a
    part of each run on its own disk. SIGTERM and --until TIME stop them too.
    """
    from hakoiri.worker.hosts.host import STORE, THREADS, is_host, name_in, require_store
    from hakoiri.worker.supervisor import UNTIL, Supervisor

    set_up(log_format)
    count, cores = _processes(processes)
    url, files = shared.required_redis(redis), named_files(puzzles)
    data_redis = _data_redis_of(store, data_redis, bool(data_host or data_memory))
    if store is not None:
        require_store(store)
    until = until or math.inf
    # Others wait for a host that has been here before.
    connect = partial(_connected, waits_until=until if store is not None and is_host(store) else 0.0)
    with connect(url) as connection, _data_redis(data_redis, connect, connection, data_host, data_memory) as server:
        # A host may be stopped at any time: the others wait for it, and at most a round is lost.
        more = {UNTIL: str(until)} if store is None else {STORE: str(store), THREADS: str(count)}
        processes_kept, pinned = (count, cores) if store is None else (1, [])
        more[TABLES] = str(available_memory() // (2 * processes_kept))
        supervisor = Supervisor(
            url, processes_kept, log, files, server.url if server else data_redis, server, pinned, more, until,
        )  # fmt: skip
        of_host = {} if store is None else {"store": str(store), "name": name_in(store)}
        metrics = shared.serving_metrics(metrics_port, metrics_host, url, **of_host)
        with stopping_with(lambda _: supervisor.request_stop()), metrics:
            _log_start(store, count, url, pinned, until)
            supervisor.start()
            supervisor.run()
    log("workers stopped")
    if json:
        print_json({"workers": count, "replaced": supervisor.replaced})


def _data_redis_of(store: Path | None, url: str | None, is_described: bool) -> str:
    """Return the URL of a host's data Redis, or ``auto``; empty for none. Options may describe the one to start."""
    from hakoiri.worker.transport.data_redis import DATA_REDIS

    if store is None and (url or is_described):
        raise typer.BadParameter("a data Redis needs a host that keeps ranges; add --store DIR")
    url = "" if store is None else url or os.environ.get(DATA_REDIS) or ""
    if url != AUTO and is_described:
        raise typer.BadParameter("--data-host and --data-memory need --data-redis auto")
    return url


def _log_start(store: Path | None, count: int, url: str, pinned: list[int], until: float) -> None:
    """Log what is started, and how little memory each worker has, if it is too little for large runs."""
    from hakoiri.worker.hosts.host import name_in
    from hakoiri.worker.transport.connection import without_password

    team = counted(count, "worker processes")
    if store is not None:
        team = f"host in {store}, {counted(count, 'threads')}, named {name_in(store)},"
    kept = f", each on one of the cores {', '.join(map(str, pinned))}" if pinned else ""
    if until < math.inf:
        at = datetime.now().astimezone() + timedelta(seconds=until - time.monotonic())
        kept += f", until {at:%Y-%m-%d %H:%M:%S%z}"
    log(f"{team} for {without_password(url)}{kept}, supervised by process {os.getpid()}")
    if (each := available_memory() // count) < WORKER_BYTES:
        megabytes = f"{each // 1_000_000} of {WORKER_BYTES // 1_000_000} MB"
        log(f"too little memory for large runs, {megabytes} for each worker: the system may kill some")


def _processes(text: str) -> tuple[int, list[int]]:
    """Return the number of processes for -n, and the cores to pin them to, if any."""
    from hakoiri.coordinator.session.resources import MOST_WORKERS

    if text == AUTO:
        cores = cores_for_workers()
        return len(cores), cores
    if not re.fullmatch(r"\d{1,9}", text) or not 1 <= int(text) <= MOST_WORKERS:
        raise typer.BadParameter(
            f"-n {text}: the number of processes must be between 1 and {MOST_WORKERS:,}, or auto for one on each core"
        )
    return int(text), []


def _connected(url: str, waits_until: float) -> "redis.Redis":
    """Return a connection. Until `waits_until` (`time.monotonic`), try again if Redis does not answer or refuses."""
    from hakoiri.worker.transport.connection import connect

    try:
        return connect(url)
    except (RedisUnavailableError, RedisRefusedError) as error:
        if time.monotonic() >= waits_until:
            raise
        log(f"{error}; this host waits for it")
    with stopping_with(lambda _: None) as received:
        while received.number is None:
            time.sleep(_RETRY_SECONDS)
            try:
                return connect(url)
            except (RedisUnavailableError, RedisRefusedError):
                if time.monotonic() >= waits_until:
                    raise
    log("workers stopped")
    raise typer.Exit


@contextmanager
def _data_redis(
    wanted: str, connect: "Callable[[str], redis.Redis]", main: "redis.Redis", host: str | None, memory: int | None
) -> "Iterator[DataRedis | None]":  # fmt: skip
    """Yield the data Redis that is started here, if any; one that the user names must answer."""
    from hakoiri.worker.transport.connection import without_password
    from hakoiri.worker.transport.data_redis import DataRedis, address_towards, is_loopback, open_data_redis

    here = address_towards(main)
    if wanted and wanted != AUTO:
        open_data_redis(wanted).close()
        connect(wanted).close()
        if is_loopback(urlsplit(wanted).hostname or "") and not is_loopback(here):
            raise typer.BadParameter(
                f"{without_password(wanted)} cannot be reached from other machines; give its address"
            )
    if wanted != AUTO:
        yield None
        return
    if "ssl_cert_reqs" in main.get_connection_kwargs():
        raise typer.BadParameter("--data-redis auto does not encrypt, but --redis does; give a data Redis by rediss://")
    memory = memory or available_memory() // _MEMORY_PART
    with DataRedis(host or here, memory) as server:
        log(f"data Redis at {without_password(server.url)}, up to {memory >> 20} MB")
        yield server
