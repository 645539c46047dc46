"""Metrics of services for Prometheus, read on request from what is there: ledgers of runs, heartbeats, RQ, disks.

Nothing is counted for them. Services answer scrapes in a process of its own (`served`), because a data file must not be
open twice in one process, and so that a scrape delays no work.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import Any

import psutil
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from hakoiri.coordinator.runs.catalogue import STATUSES, RunStatus, list_runs
from hakoiri.errors import HakoiriError, StorageError, WorkerError
from hakoiri.logs import log
from hakoiri.rows.runs import work_log_row
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.lock import is_served
from hakoiri.storage.names import DATA_FILE, SPILL_FOLDER
from hakoiri.worker.machine import REDIS, SUPERVISOR, end, end_with, host_of, start_child, worker_name
from hakoiri.worker.transport import connection as redis_of

#: A run that has ended is shown for an hour, so that its last figures are scraped.
_RECENT_SECONDS = 3600
_GRACE_SECONDS = 5.0
#: All metrics, without the prefix: name, labels, text; counters have a + in front.
_TABLE = """
runs{status} Runs by status.
stored_bytes{} Size of the layers of all runs on disk.
coordinator{} Whether a coordinator takes queued runs.
disk_free_bytes{directory} Free bytes of the disk of a directory.
run_done{run,unit} Progress of a run.
run_rate{run,unit} Work of a run per second.
run_spill_bytes{run} Spill files of a run at its coordinator.
run_layer{run} Last committed layer of a run.
+chunks_repeated{run} Chunks sent again.
+chunks_audited{run} Chunks computed again as a check.
untrusted_workers{run} Workers excluded because they were wrong.
+chunks{run,by} Chunks expanded.
+configurations{run,by} Configurations expanded.
+expanding_seconds{run,by} Time taken to expand.
+sent_bytes{run,by} Bytes sent to a worker, or by a host to others.
+received_bytes{run,by} Bytes received from a worker, or by a host.
+waited_seconds{run,host} Time for which a host waited for others.
+spilled_bytes{run,host} Bytes that a host wrote to spill files.
+kept_configurations{run,host} Configurations stored at a host.
+kept_bytes{run,host} Bytes of layers stored at a host.
redis_up{} Whether Redis answers.
workers{machine} Living workers by machine.
hosts{} Living hosts.
host_threads{host} Threads of a host.
host_idle{host} Whether a host waits for requests.
chunks_waiting{} Chunks that wait for a worker.
+worker_chunks{worker} Chunks of a worker, or requests to a host, that it has done.
+worker_busy_seconds{worker} Time that they took.
part_layer{run} Last committed layer of a run at this host.
part_bytes{run} Size on disk of the part of a run.
part_spill_bytes{run} Spill files of the part of a run.
event_streams{} Open streams of events.
"""
#: The fields of rows of a work log (`hakoiri.rows.runs.work_log_row`) by metric: those of expanders, and of hosts.
_EXPANDED = {"chunks": "chunks", "configurations": "configurations", "expanding_seconds": "seconds"}
_EXPANDED |= {"sent_bytes": "sent", "received_bytes": "received"}
_KEPT = {"waited_seconds": "waited", "spilled_bytes": "spilled", "kept_bytes": "stored"}
_KEPT |= {"kept_configurations": "configurations"}
#: Adds a value to a metric by its name, with the values of its labels.
Add = Callable[..., None]


class Metrics(Collector):
    """The metrics that some sources add, and others of its `registry`."""

    def __init__(self, *sources: Callable[[Add], None]) -> None:
        self._sources, self.registry = sources, CollectorRegistry()
        self.registry.register(self)

    def collect(self) -> Iterable[Metric]:
        found: dict[str, Any] = {}
        for kind, name, labels, text in re.findall(r"(\+?)(\w+)\{(.*)\} (.*)", _TABLE):
            family = CounterMetricFamily if kind else GaugeMetricFamily
            found[name] = family(f"hakoiri_{name}", text, labels=labels.split(",") if labels else [])
        for source in self._sources:
            source(lambda name, number, *labels: found[name].add_metric(labels, number))
        return [family for family in found.values() if family.samples]


def add_runs(add: Add, data: Path, known: list[RunStatus]) -> None:
    """Add the metrics of a data directory, of its runs, and of the work on those that run or have just ended."""
    for status in STATUSES:
        add("runs", sum(found.status == status for found in known), status)
    add("stored_bytes", sum(found.state.stored_bytes for found in known))
    add("coordinator", is_served(data))
    _add_disk(add, data)
    for found in known:
        run, row = found.run, work_log_row(found.state.work_log)
        if found.status == "running":
            add("run_done", found.state.progress.done, run, found.state.progress.unit)
            add("run_rate", found.rate, run, found.rate_unit)
            add("run_spill_bytes", _spilled(data / run), run)
        elif found.state.updated < time.time() - _RECENT_SECONDS:
            continue
        add("run_layer", found.state.depth, run)
        if row is not None:
            audit = row["audit"] or {"chunks": 0, "untrusted": []}
            add("chunks_repeated", row["repeated"], run)
            add("chunks_audited", audit["chunks"], run)
            add("untrusted_workers", len(audit["untrusted"]), run)
            for each, (name, field) in product(row["expanders"], _EXPANDED.items()):
                add(name, each[field], run, each["name"] or "threads")
            for host, (name, field) in product(row["kept"]["hosts"] if row["kept"] else (), _KEPT.items()):
                add(name, host[field], run, host["host"])


def add_team(add: Add, url: str, names: Iterable[str] = ()) -> None:
    """Add the metrics of all workers and hosts at the Redis `url`, and of what the workers `names` have done."""
    try:
        with redis_of.connect(url) as connection, redis_of.redis_errors(url):
            machines = Counter(map(host_of, redis_of.living_workers(connection)))
            hosts, waiting = redis_of.living_hosts(connection), connection.llen(f"rq:queue:{redis_of.QUEUE}")
            done = {name: connection.hgetall(f"rq:worker:{name}") for name in names}
    except WorkerError:
        add("redis_up", 0)
        return
    add("redis_up", 1)
    add("hosts", len(hosts))
    add("chunks_waiting", waiting)
    for machine, number in machines.items():
        add("workers", number, machine)
    for host, beat in hosts.items():
        add("host_threads", beat.threads, host)
        add("host_idle", beat.idle, host)
    for worker, entry in done.items():
        if b"successful_job_count" in entry:
            add("worker_chunks", float(entry[b"successful_job_count"]), worker)
            add("worker_busy_seconds", float(entry[b"total_working_time"]), worker)


def _add_store(add: Add, store: Path) -> None:
    """Add the metrics of the directory of a host, and of its parts of runs."""
    for part in store.glob("run-*"):
        with suppress(StorageError, OSError), Ledger(part) as ledger:
            add("part_layer", ledger.state.depth, ledger.made_as)
            add("part_bytes", (part / DATA_FILE).stat().st_blocks * 512, ledger.made_as)
            add("part_spill_bytes", _spilled(part), ledger.made_as)
    _add_disk(add, store)


def _add_disk(add: Add, directory: Path) -> None:
    if directory.is_dir():
        add("disk_free_bytes", shutil.disk_usage(directory).free, str(directory))


def _spilled(directory: Path) -> int:
    with suppress(FileNotFoundError):
        return sum(file.lstat().st_size for file in (directory / SPILL_FOLDER).glob("*"))
    return 0


@contextmanager
def served(
    port: int, address: str, redis: str | None, data: str = "", store: str = "", name: str = ""
) -> Iterator[None]:
    """Answer scrapes at a port during the block, 0 for any free one, in a child process.

    They are about runs in `data`, about the host `name` with the directory `store`, or about workers of this process.
    """
    env = os.environ | {REDIS: redis or ""}
    settings = json.dumps({"port": port, "address": address, "data": data, "store": store, "name": name})
    more: dict[str, Any] = {"env": env, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "process_group": 0}
    with start_child(__name__, settings, **more) as child:
        try:
            said = child.stdout.readline().decode().strip() if child.stdout else ""
            if not said.startswith("http:"):
                raise HakoiriError(said or "the process for metrics has ended")
            log(f"metrics at {said}")
            yield
        finally:
            end(child, _GRACE_SECONDS)


def main(settings: str) -> None:
    """Answer scrapes until the process that started this one ends."""
    parent, what = int(os.environ[SUPERVISOR]), json.loads(settings)
    end_with(parent)
    port, address, data, store = what["port"], what["address"], Path(what["data"]), Path(what["store"])

    def collect(add: Add) -> None:
        if what["data"]:
            add_runs(add, data, list_runs(data))
        if what["store"]:
            _add_store(add, store)
        if url := os.environ[REDIS]:
            children = () if what["data"] or what["name"] else psutil.Process(parent).children()
            own = [worker_name(child.pid) for child in children]
            add_team(add, url, [what["name"]] if what["name"] else own)

    try:
        server, thread = start_http_server(port, address, Metrics(collect).registry)
    except OSError as error:
        print(f"{address} port {port}: {error.strerror}; choose another port", flush=True)
        return
    shown = f"[{address}]" if ":" in address else address
    print(f"http://{shown}:{server.server_port}/metrics", flush=True)
    while os.getppid() == parent:
        thread.join(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
