"""Layers of spaces by Hakoiri and by other programs: seconds, CPU seconds and memory of whole processes.

    python -m benchmarks.peers --page                       # all of them; writes docs/reports/peers.md
    python -m benchmarks.peers --only DuckDB --space "LRX 10" --repeat 1

The first time, a virtual environment with the other programs is made in `build/peers`, of the versions below. Each
program counts the configurations by their fewest moves from the start, in a process of its own, imports included. All
must find the same numbers. Hakoiri stores all layers on disk, or with `--keep depths` the depth of each configuration,
and `verify` can prove them; the others keep everything in memory and store nothing. A row has the least CPU seconds of
`--repeat`, since other work on a machine only adds to them, and the seconds and memory of that repetition. Hakoiri
computes with one thread, the others with as many as they take.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.environment import python_with
from benchmarks.pages import Table, record

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "peers"
VERSIONS = (
    "cayleypy==0.2.0", "torch==2.13.0", "duckdb==2.0.1", "polars==2.1.0", "networkit==11.3", "numpy==2.4.6",
)  # fmt: skip
#: Seconds after which a program is stopped.
_MOST_SECONDS = 400

Row = list[int]


def _orders(n: int, moves: dict[str, Row], directed: bool = False, command: str = "") -> dict[str, Any]:
    """Return a space of the orders of n things: place i takes what is at place ``row[i]``."""
    return {"start": list(range(n)), "moves": list(moves.values()), "directed": directed, "bits": 4, "command": command}


def _cycles(row: Row) -> str:
    """Return a permutation as GAP writes it."""
    found, met = "", set[int]()
    for first in range(len(row)):
        cycle = [first]
        while (after := row[cycle[-1]]) not in cycle:
            cycle.append(after)
        if len(cycle) > 1 and not met & {*cycle}:
            found += f"({','.join(str(place + 1) for place in cycle)})"
        met |= {*cycle}
    return found


def _as_gap(moves: list[Row]) -> str:
    lines = [f"M_m{number}:={_cycles(row)};" for number, row in enumerate(moves)]
    return "\n".join([*lines, f"Gen:=[{','.join(f'M_m{number}' for number in range(len(moves)))}];", ""])


def _cube() -> dict[str, Any]:
    """Return the 2x2x2 cube: one sticker of each corner has its number, so that 21 stickers fit 63 bits."""
    moves = []
    for line in (ROOT / "examples/definitions/2x2x2.gap").read_text(encoding="utf-8").splitlines()[:3]:
        turn = list(range(21))
        for cycle in line.split(":=")[1].strip("();").split(")("):
            points = [int(point) - 1 for point in cycle.split(",")]
            for point, after in zip(points, points[1:] + points[:1], strict=True):
                turn[point] = after
        twice = [turn[place] for place in turn]
        moves += [turn, twice, [twice[place] for place in turn]]
    # The stickers of each corner, in an order that all moves keep but for a shift.
    frames = {0: [0, 1, 2]}
    while len(frames) < 7:
        for frame in list(frames.values()):
            for move in moves:
                image = [move[sticker] for sticker in frame]
                frames.setdefault(image[0] // 3, image)
    start = [place // 3 + 1 if place % 3 == 0 else 0 for place in range(21)]
    return {
        "start": start, "moves": moves, "directed": False, "bits": 3, "frames": [frames[corner] for corner in range(7)],
        "command": f"{ROOT}/examples/definitions/2x2x2.gap",
    }  # fmt: skip


def _lrx(n: int) -> dict[str, Row]:
    return {"L": [*range(1, n), 0], "R": [n - 1, *range(n - 1)], "X": [1, 0, *range(2, n)]}


def _pancakes(n: int) -> dict[str, Any]:
    reversals = {f"r{k}": [*range(k - 1, -1, -1), *range(k, n)] for k in range(2, n + 1)}
    return _orders(n, reversals, command=f"pancakes -o n={n}")


_TEN = _lrx(10)
SPACES = {
    "LRX 10": _orders(10, _TEN),
    "LX 10, directed": _orders(10, {"L": _TEN["L"], "X": _TEN["X"]}, directed=True),
    "pancakes 10": _pancakes(10),
    "TopSpin 10": _orders(10, _TEN | {"X": [3, 2, 1, 0, *range(4, 10)]}),
    "2x2x2 cube": _cube(),
    # Only by name: some programs take minutes.
    "LRX 11": _orders(11, _lrx(11)),
    "pancakes 11": _pancakes(11),
}

#: What each program begins with: `start`, `moves` and `directed`, and how states are packed in integers.
_COMMON = """
import json, sys
space = json.load(open(sys.argv[1]))
start, moves, directed, bits = space["start"], space["moves"], space["directed"], space["bits"]
mask, places = (1 << bits) - 1, range(len(start))
first = sum(thing << bits * place for place, thing in enumerate(start))
"""
_HAKOIRI = """
import subprocess, tempfile
with tempfile.TemporaryDirectory() as data:
    command = [sys.executable, "-m", "hakoiri", "run", *space["command"].split(), "--data", data]
    command += ["--json", "--keep", "{keep}", "--workers", "1"]
    sizes = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["layers"]
"""
PROGRAMS = {
    "Hakoiri": _HAKOIRI.replace("{keep}", "layers"),
    "Hakoiri, `--keep depths`": _HAKOIRI.replace("{keep}", "depths"),
    "CayleyPy, CPU": """
from cayleypy import CayleyGraph, CayleyGraphDef
given = CayleyGraphDef.create(moves, central_state=start)
sizes = CayleyGraph(given, device="cpu").bfs().layer_sizes
""",
    "DuckDB": """
import duckdb
db, sizes = duckdb.connect(), []
packed = [" + ".join(f"(((key >> {bits * source}) & {mask}) << {bits * to})" for to, source in enumerate(move))
          for move in moves]
db.execute(f"CREATE TABLE layer0 AS SELECT {first}::BIGINT AS key")
while size := db.execute(f"SELECT count(*) FROM layer{len(sizes)}").fetchone()[0]:
    depth = len(sizes)
    sizes.append(size)
    union = " UNION ALL ".join(f"SELECT {move} AS key FROM layer{depth}" for move in packed)
    if directed:
        db.execute("CREATE TABLE known AS SELECT * FROM layer0" if not depth
                   else f"INSERT INTO known SELECT * FROM layer{depth}")
    older = ["known"] if directed else [f"layer{before}" for before in (depth - 1, depth) if before >= 0]
    beyond = "".join(f" ANTI JOIN {table} USING (key)" for table in older)
    db.execute(f"CREATE TABLE layer{depth + 1} AS SELECT key FROM (SELECT DISTINCT key FROM ({union})){beyond}")
""",
    "Polars": """
import polars as pl
schema = {"key": pl.UInt64}
sizes, before, layer = [], pl.DataFrame(schema=schema), pl.DataFrame({"key": [first]}, schema=schema)
def packed(move):
    parts = (pl.col("key") // (1 << bits * source) % (mask + 1) * (1 << bits * to) for to, source in enumerate(move))
    return sum(parts).cast(pl.UInt64).alias("key")
exprs = [packed(move) for move in moves]
while len(layer):
    sizes.append(len(layer))
    found = pl.concat([layer.lazy().select(each) for each in exprs]).unique()
    for known in (before, layer):
        found = found.join(known.lazy(), on="key", how="anti")
    before = pl.concat([before, layer]) if directed else layer
    layer = found.collect()
""",
    "NumPy": """
import numpy
def packed(keys, move):
    found = numpy.zeros_like(keys)
    for to, source in enumerate(move):
        found |= (keys >> numpy.uint64(bits * source) & numpy.uint64(mask)) << numpy.uint64(bits * to)
    return found
sizes, known, layer = [], [], numpy.array([first], dtype=numpy.uint64)
while len(layer):
    sizes.append(len(layer))
    known = [*known, layer] if directed else [*known, layer][-2:]
    layer = numpy.unique(numpy.concatenate([packed(layer, move) for move in moves]))
    for older in known:
        places_of = numpy.minimum(numpy.searchsorted(older, layer), len(older) - 1)
        layer = layer[older[places_of] != layer]
""",
    "NetworKit, graph by NumPy": """
import networkit, numpy
u = numpy.uint64
def packed(keys, move):
    found = numpy.zeros_like(keys)
    for to, source in enumerate(move):
        found |= (keys >> u(bits * source) & u(mask)) << u(bits * to)
    return found
# All orders: insert each thing at each place. For the cube all turns of its corners, too.
frames = space.get("frames", [])
orders = numpy.array([[0]], dtype=numpy.uint8)
for thing in range(1, len(frames or start)):
    orders = numpy.concatenate([numpy.insert(orders, place, thing, axis=1) for place in range(thing + 1)])
if frames:
    turns = numpy.stack(numpy.unravel_index(numpy.arange(3**6), (3,) * 6), axis=1)
    turns, keys = numpy.column_stack([turns, -turns.sum(axis=1) % 3]), u(0)
    for place, frame in enumerate(frames):
        keys = keys + (orders[:, place, None] + u(1) << u(bits) * numpy.array(frame, dtype=u)[turns[None, :, place]])
    keys = keys.ravel()
else:
    keys = sum(orders[:, place].astype(u) << u(bits * place) for place in places)
keys = numpy.sort(keys)
graph = networkit.GraphFromCoo((numpy.tile(numpy.arange(len(keys)), len(moves)), numpy.concatenate(
    [numpy.searchsorted(keys, packed(keys, move)) for move in moves])), n=len(keys), directed=True)
search = networkit.distance.BFS(graph, int(numpy.searchsorted(keys, u(first))), storePaths=False)
search.run()
sizes = numpy.bincount(numpy.array(search.getDistances(), dtype=numpy.int64)).tolist()
""",
}


def measured(program: str, space: str, python: Path) -> dict[str, Any]:
    """Run a program in a process of its own; return its layers, seconds, CPU seconds and peak of memory."""
    with tempfile.TemporaryDirectory() as folder:
        given = dict(SPACES[space])
        if not given["command"]:
            (Path(folder) / "space.gap").write_text(_as_gap(given["moves"]), encoding="utf-8")
            given["command"] = f"{folder}/space.gap -o metric=given"
        (Path(folder) / "space.json").write_text(json.dumps(given), encoding="utf-8")
        file = Path(folder) / "program.py"
        file.write_text(f"{_COMMON}{PROGRAMS[program]}\nprint(*map(int, sizes))\n", encoding="utf-8")
        command = [sys.executable if program.startswith("Hakoiri") else python, file, Path(folder) / "space.json"]
        began = time.monotonic()
        with subprocess.Popen(["timeout", str(_MOST_SECONDS), *command], stdout=subprocess.PIPE, text=True) as process:
            said = process.stdout.read() if process.stdout else ""
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{program} ended with {process.returncode} in {space}")
    row: dict[str, Any] = {"program": program, "space": space, "layers": [int(size) for size in said.split()]}
    row |= {"seconds": time.monotonic() - began, "cpu": usage.ru_utime + usage.ru_stime}
    return row | {"megabytes": usage.ru_maxrss / 1_000}


def next_best(cpu: Mapping[str, float]) -> str:
    """Return the fastest other program, by its CPU seconds over those of Hakoiri with all layers stored."""
    theirs = {name: seconds for name, seconds in cpu.items() if not name.startswith("Hakoiri")}
    if not theirs or "Hakoiri" not in cpu:
        return ""
    name = min(theirs, key=theirs.__getitem__)
    return f"Next best: {name}, {theirs[name] / cpu['Hakoiri']:.1f} times the CPU seconds of Hakoiri."


def _tables(rows: list[dict[str, Any]]) -> Iterator[Table]:
    """Yield a table for each space, and its next best program."""
    for space in dict.fromkeys(row["space"] for row in rows):
        best = dict[str, dict[str, Any]]()
        for row in rows:
            if row["space"] == space and row["cpu"] <= best.get(row["program"], row)["cpu"]:
                best[row["program"]] = row
        layers = rows[[row["space"] for row in rows].index(space)]["layers"]
        title = f"{space}: {sum(layers):,} configurations, depth {len(layers) - 1}"
        table = Table({title: "", "CPU s": ".2f", "s": ".2f", "peak MB": ",.0f"})
        table.rows += [[name, row["cpu"], row["seconds"], row["megabytes"]] for name, row in best.items()]
        table.below = next_best({name: row["cpu"] for name, row in best.items()})
        yield table


def main() -> None:
    """Measure all programs in turn, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", action="append", choices=PROGRAMS, help="a program; repeatable")
    parser.add_argument("--space", action="append", choices=SPACES, help="a space; repeatable")
    parser.add_argument("--rows", type=Path, help="JSON lines of all measurements, to which new ones are added")
    parser.add_argument("--page", action="store_true", help="write docs/reports/peers.md")
    given = parser.parse_args()
    rows, python = list[dict[str, Any]](), python_with(VERSIONS, FOLDER)
    if given.rows and given.rows.exists():
        rows = [json.loads(line) for line in given.rows.read_text(encoding="utf-8").splitlines()]
    spaces = given.space or [name for name in SPACES if not name.endswith(" 11")]
    programs = given.only or PROGRAMS
    for space in spaces if given.repeat else ():
        # The first run compiles kernels.
        measured("Hakoiri", space, python)
    for _ in range(given.repeat):
        for space in spaces:
            for program in programs:
                if SPACES[space]["directed"] and "depths" in program:
                    # A table of depths needs moves that can be taken back.
                    continue
                rows.append(measured(program, space, python))
                print(program, space, f"{rows[-1]['cpu']:.2f}", file=sys.stderr, flush=True)
                same = next(row for row in rows if row["space"] == space)
                if rows[-1]["layers"] != same["layers"]:
                    raise SystemExit(f"{program}: {rows[-1]['layers']}, but {same['program']}: {same['layers']}")
                if given.rows:
                    with given.rows.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(rows[-1]) + "\n")
    tables = [*_tables(rows)]
    print("\n\n".join(map(str, tables)))
    if given.page:
        record("peers", tables, f"{', '.join(VERSIONS)}.")


if __name__ == "__main__":
    main()
