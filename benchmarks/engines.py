"""Layers of the pancake graph by engines for tables and tasks, and by Hakoiri's hosts, undisturbed and with a kill -9.

    python -m benchmarks.engines --page                        # all of them; writes docs/reports/engines.md
    python -m benchmarks.engines --only "Dask P2P" --n 9 --repeat 1

The first time, a virtual environment with the engines is made in `build/engines`, of the versions below. The script
needs root, since each program runs in process and network namespaces of its own. So all of its processes are counted,
and all bytes that they send through the loopback interface. Hosts, Dask and Ray have two workers of one thread.

A layer step is the same for all. Expand the layer, and send each successor to the worker that its key belongs to.
Remove duplicates, and what is in the layer or in the one before. Each program has the moves as expressions of whole
columns; those of Dask and Ray are NumPy's, and one row has them without an engine. A row has the least CPU seconds of
`--repeat`, and the other figures of that repetition. Then each program runs again, and one worker is killed after
three quarters of the CPU seconds. Programs of one process are started again on the files that are left.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.environment import python_with
from benchmarks.pages import Table, record

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = (
    "dask[dataframe]==2026.8.0", "distributed==2026.8.0", "ray==2.60.0", "duckdb==2.0.1", "polars==2.1.0",
    "pandas==3.1.1", "pyarrow==26.0.1", "numpy==2.4.6",
)  # fmt: skip
#: Seconds after which a program is stopped, and between two looks at its processes.
_MOST_SECONDS, _LOOK = 300, 0.05
_TICK = os.sysconf("SC_CLK_TCK")

#: What each program begins with. `begin` says that the cluster is up, and which processes are its workers.
_COMMON = """
import json, os, sys
def say(**what):
    print(json.dumps(what), flush=True)
def reversals(part):
    for count in range(2, n + 1):
        yield [part(place, count - 1 - place if place < count else place) for place in range(n)]
first = sum(place << 4 * place for place in range(n))
"""
#: By sorting: `numpy.unique` and `numpy.isin` take 20 to 50 times as long.
_ARRAYS = """
import numpy
u = numpy.uint64
def distinct(keys):
    keys = numpy.sort(keys)
    return keys[numpy.append(True, keys[1:] != keys[:-1])] if len(keys) else keys
def expanded(keys):
    found = []
    for parts in reversals(lambda to, source: (to, source)):
        moved = numpy.zeros_like(keys)
        for to, source in parts:
            moved |= (keys >> u(4 * source) & u(15)) << u(4 * to)
        found.append(moved)
    return distinct(numpy.concatenate(found))
def without(found, *older):
    found = distinct(found)
    for keys in older:
        if len(keys):
            found = found[keys[numpy.minimum(numpy.searchsorted(keys, found), len(keys) - 1)] != found]
    return found
"""
PROGRAMS = {
    "Hakoiri's hosts": """
import subprocess
from benchmarks.roles import Team
with Team({"host-0": 1, "host-1": 1}) as team:
    # Compiles the kernels.
    team.run(["pancakes", "-o", "n=8", "--farm", "0"])
    say(begin=team._watched.processes["hosts"])
    command = [sys.executable, "-m", "hakoiri", "run", "pancakes", "-o", f"n={n}", "--farm", "20000", "--hosts", "all"]
    command += ["--redis", team._control.url, "--data", "data", "--json"]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    say(sizes=report["layers"])
""",
    "Dask P2P": _ARRAYS
    + """
import dask, pandas, dask.dataframe as dd
from distributed import Client, LocalCluster, wait
def expand(part):
    return pandas.DataFrame({"key": expanded(part["key"].to_numpy())})
def merge(found, layer, before):
    keys = (each["key"].to_numpy() for each in (found, layer, before))
    return pandas.DataFrame({"key": without(*keys)})
if __name__ == "__main__":
    dask.config.set({"dataframe.shuffle.method": "p2p", "distributed.worker.daemon": False})
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        meta = pandas.DataFrame({"key": numpy.array([], dtype=u)})
        def parted(keys):
            frame = dd.from_pandas(pandas.DataFrame({"key": numpy.array(keys, dtype=u)}), npartitions=1)
            return frame.shuffle("key", npartitions=4).persist()
        say(begin=list(client.run(os.getpid).values()))
        before, layer, sizes = parted([]), parted([first]), []
        while size := len(layer):
            sizes.append(size)
            found = layer.map_partitions(expand, meta=meta).shuffle("key", npartitions=4)
            after = dd.map_partitions(merge, found, layer, before, meta=meta, align_dataframes=False).persist()
            wait(after)
            before, layer = layer, after
        say(sizes=sizes)
""",
    "Ray": _ARRAYS
    + """
import logging, ray
from ray.cluster_utils import Cluster
PARTS = 4
def split(keys):
    owner = keys * u(11400714819323198485) >> u(62)
    return [keys[owner == u(part)] for part in range(PARTS)]
@ray.remote(num_returns=PARTS, scheduling_strategy="SPREAD", max_retries=-1)
def expand(keys):
    return split(expanded(keys))
@ray.remote(num_returns=2, scheduling_strategy="SPREAD", max_retries=-1)
def merge(layer, before, *found):
    after = without(numpy.concatenate(found), layer, before)
    return after, len(after)
cluster = Cluster()
nodes = [cluster.add_node(num_cpus=cpus, object_store_memory=1 << 30) for cpus in (0, 1, 1)]
ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.ERROR)
cluster.wait_for_nodes()
# Its pool of processes is started by tasks.
ray.get([expand.remote(numpy.array([first], dtype=u))[0] for _ in range(4)])
say(begin=[node.all_processes["raylet"][0].process.pid for node in nodes[1:]])
before, layer = [split(numpy.array(keys, dtype=u)) for keys in ([], [first])]
sizes, size = [], 1
while size:
    sizes.append(size)
    found = [expand.remote(keys) for keys in layer]
    pairs = [merge.remote(*old, *new) for *old, new in zip(layer, before, zip(*found))]
    before, layer = layer, [after for after, _ in pairs]
    size = sum(ray.get([count for _, count in pairs]))
say(sizes=sizes)
os._exit(0)
""",
    "NumPy, no engine": _ARRAYS
    + """
say(begin=[os.getpid()])
none = numpy.array([], dtype=u)
before, layer, sizes = none, numpy.array([first], dtype=u), []
while len(layer):
    sizes.append(len(layer))
    before, layer = layer, without(expanded(layer), layer, before)
say(sizes=sizes)
""",
    "DuckDB, a file": """
import duckdb
db = duckdb.connect("layers.duckdb", config={"threads": 2})
moves = [" + ".join(parts) for parts in reversals(
    lambda to, source: f"(((key >> {4 * source}) & 15) << {4 * to})")]
say(begin=[os.getpid()])
db.execute(f"CREATE TABLE IF NOT EXISTS layer0 AS SELECT {first}::BIGINT AS key")
# Started again, it continues after the last layer whose transaction was committed.
depth = len(db.execute("SHOW TABLES").fetchall()) - 1
say(kept=depth)
def size(depth):
    return db.execute(f"SELECT count(*) FROM layer{depth}").fetchone()[0]
while size(depth):
    union = " UNION ALL ".join(f"SELECT {move} AS key FROM layer{depth}" for move in moves)
    older = "".join(f" ANTI JOIN layer{before} USING (key)" for before in (depth - 1, depth) if before >= 0)
    db.execute(f"CREATE TABLE layer{depth + 1} AS SELECT key FROM (SELECT DISTINCT key FROM ({union})){older}")
    depth += 1
say(sizes=[size(each) for each in range(depth)])
""",
    "Polars, Parquet files": """
import polars as pl
moves = [sum(parts).cast(pl.UInt64).alias("key") for parts in reversals(
    lambda to, source: pl.col("key") // (1 << 4 * source) % 16 * (1 << 4 * to))]
schema = {"key": pl.UInt64}
say(begin=[os.getpid()])
def keep(layer, depth):
    layer.write_parquet("part")
    with open("part", "rb") as file:
        os.fsync(file.fileno())
    os.rename("part", f"{depth}.parquet")
def read(depth):
    return pl.read_parquet(f"{depth}.parquet") if depth >= 0 else pl.DataFrame(schema=schema)
depth = sum(name.endswith(".parquet") for name in os.listdir()) - 1
say(kept=depth)
if depth < 0:
    keep(pl.DataFrame({"key": [first]}, schema=schema), depth := 0)
before, layer = read(depth - 1), read(depth)
while len(layer):
    found = pl.concat([layer.lazy().select(each) for each in moves]).unique()
    for known in (before, layer):
        found = found.join(known.lazy(), on="key", how="anti")
    before, layer, depth = layer, found.collect(), depth + 1
    keep(layer, depth)
say(sizes=[len(read(each)) for each in range(depth)])
""",
}


class _Watch:
    """Sums of the processor seconds, writes and memory of all other processes of this namespace.

    Processor seconds of processes that others let end unseen are those of the last look.
    """

    def __init__(self) -> None:
        self.peak, self._ticks, self._written = 0, dict[str, int](), dict[str, int]()

    def look(self) -> None:
        """Look at all processes: their processor time, what they wrote to a disk, their memory, each page once."""
        memory = 0
        for folder in Path("/proc").iterdir():
            process = folder.name
            with suppress(OSError, IndexError):
                if process.isdigit() and int(process) != os.getpid():
                    stat = (folder / "stat").read_text().rpartition(")")[2].split()
                    self._ticks[process] = int(stat[11]) + int(stat[12])
                    self._written[process] = int((folder / "io").read_text().split("\nwrite_bytes: ")[1].split()[0])
                    memory += int((folder / "smaps_rollup").read_text().split("\nPss:")[1].split()[0])
        self.peak = max(self.peak, memory)

    def taken(self) -> dict[str, float]:
        """Return processor seconds, bytes written to a disk, and bytes sent through the loopback interface."""
        self.look()
        written, cpu = sum(self._written.values()), sum(self._ticks.values()) / _TICK
        return {"cpu": cpu, "written": written, "sent": _sent()}


def _sent() -> int:
    """Return the bytes that went through the loopback interface."""
    (line,) = (line for line in Path("/proc/net/dev").read_text().splitlines() if line.strip().startswith("lo:"))
    return int(line.split(":")[1].split()[0])


def inside(program: str, n: int, python: str, kill_after: float) -> None:
    """As the first process of its namespaces, run a program, and print the row.

    Kill a worker after `kill_after` processor seconds, unless that is 0.
    """
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    file = Path("program.py")
    file.write_text(f"n = {n}\n{_COMMON}{PROGRAMS[program]}", encoding="utf-8")
    watch, said, row = _Watch(), list[dict[str, Any]](), dict[str, Any]()
    arrived = threading.Condition()
    environment = os.environ | {"PYTHONPATH": str(ROOT), "RAY_DEDUP_LOGS": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    with Path("errors").open("ab") as errors:
        child = subprocess.Popen([python, file], stdout=subprocess.PIPE, stderr=errors, text=True, env=environment)

    def listen() -> None:
        for line in child.stdout or ():
            with suppress(json.JSONDecodeError), arrived:
                said.append(json.loads(line))
                arrived.notify()
        with arrived:
            said.append({"ended": child.wait()})
            arrived.notify()

    threading.Thread(target=listen, daemon=True).start()
    began, seen = time.monotonic(), 0
    before = watch.taken()
    while "ended" not in row and time.monotonic() < began + _MOST_SECONDS:
        with arrived:
            if len(said) == seen:
                arrived.wait(_LOOK)
            new, seen = said[seen:], len(said)
        for what in new:
            row |= what
            if "begin" in what:
                began, before = time.monotonic(), watch.taken()
                row["starting"] = before["cpu"]
            if "sizes" in what:
                row |= {name: value - before[name] for name, value in watch.taken().items()}
                row |= {"seconds": time.monotonic() - began, "megabytes": watch.peak / 1024}
        spent = watch.taken()["cpu"] - before["cpu"]
        if kill_after and "begin" in row and not {"killed", "sizes"} & {*row} and spent > kill_after:
            row |= {"killed": row["begin"][-1], "until": spent}
            os.kill(row["killed"], signal.SIGKILL)
    print(json.dumps({"program": program, "n": n} | row), flush=True)


def measured(program: str, n: int, kill_after: float = 0.0, folder: str = "") -> dict[str, Any]:
    """Run a program in namespaces of its own, in a new directory or in `folder`; return its row."""
    python = sys.executable if program.startswith("Hakoiri") else python_with(VERSIONS, ROOT / "build/engines")
    with tempfile.TemporaryDirectory() as new:
        command = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, __file__]
        command += ["--n", str(n), "--only", program, "--inside", str(python), "--kill-after", str(kill_after)]
        own = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": new}
        done = subprocess.run(command, cwd=folder or new, stdout=subprocess.PIPE, check=True, env=own)
        row: dict[str, Any] = json.loads(done.stdout)
        row["said"] = (Path(folder or new) / "errors").read_text(encoding="utf-8", errors="replace")[-2_000:]
    return row


def killed(program: str, n: int, cpu: float) -> dict[str, Any]:
    """Kill a worker in the midst; if the program ends with that, start it again on its files. Return both together."""
    with tempfile.TemporaryDirectory() as folder:
        row = measured(program, n, 0.75 * cpu, folder)
        again = measured(program, n, 0.0, folder) if row.get("ended") == -signal.SIGKILL else {}
    return row | {"again": again}


def main() -> None:
    """Measure all programs in turn, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--only", action="append", choices=PROGRAMS, help="a program; repeatable")
    parser.add_argument("--page", action="store_true", help="write docs/reports/engines.md")
    parser.add_argument("--rows", type=Path, help="JSON lines of all rows, to which new ones are added")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    parser.add_argument("--kill-after", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args()
    programs = given.only or [*PROGRAMS]
    if given.inside:
        return inside(programs[0], given.n, given.inside, given.kill_after)
    rows = list[dict[str, Any]]()
    if given.rows and given.rows.exists():
        rows = [json.loads(line) for line in given.rows.read_text(encoding="utf-8").splitlines()]
    for kills in (False, True):
        for program in programs * (1 if kills else given.repeat):
            if kills and any(row["program"] == program and "again" in row for row in rows):
                continue
            row = killed(program, given.n, _best(rows, program)["cpu"]) if kills else measured(program, given.n)
            if not kills and row.get("sizes") != rows[0]["sizes"] if rows else "sizes" not in row:
                raise SystemExit(f"{program}: {row}")
            rows.append(row)
            print(json.dumps(row), file=sys.stderr, flush=True)
            if given.rows:
                with given.rows.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    tables = [*_tables(rows, programs)]
    print("\n\n".join(map(str, tables)))
    if given.page:
        record("engines", tables, f"{', '.join(VERSIONS)}.")
    return None


def _best(rows: list[dict[str, Any]], program: str) -> dict[str, Any]:
    """Return the undisturbed row of least processor seconds."""
    return min((row for row in rows if row["program"] == program and "again" not in row), key=lambda row: row["cpu"])


def _tables(rows: list[dict[str, Any]], programs: list[str]) -> Iterator[Table]:
    """Yield both tables: undisturbed, and with a kill."""
    sizes = rows[0]["sizes"]
    space = f"{sum(sizes):,} configurations, depth {len(sizes) - 1}"
    columns = ("CPU s", "times the CPU s", "to start s", "s", "sent MB", "times the MB", "written MB")
    table = Table({space: "", **dict.fromkeys(columns, ",.1f"), "peak MB": ",.0f"})
    for program in programs:
        row = _best(rows, program)
        first = _best(rows, programs[0])
        cpu, sent = (row[name] / first[name] if row[name] and first[name] else None for name in ("cpu", "sent"))
        figures = [row["cpu"], cpu, row["starting"], row["seconds"], row["sent"] / 1e6, sent, row["written"] / 1e6]
        table.rows.append([program, *figures, row["megabytes"]])
    yield table
    killed = "one worker killed by `kill -9` in the midst"
    table = Table({killed: "", "result": "", "CPU s": ".1f", "more than undisturbed": "+.1f", "s": ".1f"})
    for row in rows:
        if "again" in row:
            alone, last = _best(rows, row["program"]), row["again"] or row
            if "killed" not in row:
                raise SystemExit(f"{row['program']} ended before the kill: take a larger --n")
            if last.get("sizes") != sizes:
                result = f"none: ended with {row['ended']}" if "ended" in row else f"none within {_MOST_SECONDS} s"
                table.rows.append([row["program"], result])
                continue
            kept = (
                f"right, started again after layer {last.get('kept', 0)} of {len(sizes) - 1}"
                if row["again"]
                else "right"
            )
            # The seconds up to the kill are those of the process that was killed.
            cpu = last["cpu"] + (row["until"] if row["again"] else 0.0)
            table.rows.append([row["program"], kept, cpu, cpu - alone["cpu"], last["seconds"]])
    yield table


if __name__ == "__main__":
    main()
