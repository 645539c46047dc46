"""Layers of the pancake graph by Hakoiri and by other programs: seconds, CPU seconds and memory, side by side.

    python -m venv others && others/bin/pip install torch==2.13.0 cayleypy duckdb polars networkit
    python benchmarks/others.py --python others/bin/python --n 9 --out others.json

Each program counts the stacks of n pancakes by their fewest reversals from the sorted stack, in a process of its own,
imports included. All must find the same numbers. The median of `--repeat` is printed as a row of a table. Hakoiri
stores all layers on disk, and `verify` can prove them; the others keep everything in memory and store nothing.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

#: Expressions of the keys, 4 bits a pancake, after the reversal of the first `count`.
_KEYS = """
def reversals(n, part):
    for count in range(2, n + 1):
        moved = [part(place, count - 1 - place) for place in range(count)]
        kept = [part(place, place) for place in range(count, n)]
        yield moved + kept
first = sum(place << 4 * place for place in range(n))
"""
PROGRAMS = {
    "Hakoiri": """
import subprocess, sys, tempfile, json
with tempfile.TemporaryDirectory() as data:
    command = [sys.executable, "-m", "hakoiri", "run", "pancakes", "-o", f"n={n}", "--data", data, "--json"]
    sizes = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["layers"]
""",
    "Hakoiri, plain Python": """
import tempfile
from hakoiri import explore_graph
def flip(stack):
    return [stack[:count][::-1] + stack[count:] for count in range(2, len(stack) + 1)]
with tempfile.TemporaryDirectory() as data, explore_graph("abcdefghijkl"[:n], flip, data=data) as run:
    sizes = run.layer_sizes
""",
    "CayleyPy, CPU": """
from cayleypy import CayleyGraph, PermutationGroups
sizes = CayleyGraph(PermutationGroups.pancake(n), device="cpu").bfs().layer_sizes
""",
    "DuckDB": """
import duckdb
db, sizes = duckdb.connect(), []
moves = [" + ".join(f"(((key >> {4 * source}) & 15) << {4 * to})" for to, source in parts)
         for parts in reversals(n, lambda to, source: (to, source))]
db.execute(f"CREATE TABLE layer0 AS SELECT {first}::BIGINT AS key")
while True:
    depth = len(sizes)
    if not (size := db.execute(f"SELECT count(*) FROM layer{depth}").fetchone()[0]):
        break
    sizes.append(size)
    union = " UNION ALL ".join(f"SELECT {move} AS key FROM layer{depth}" for move in moves)
    known = "".join(f" EXCEPT SELECT key FROM layer{before}" for before in (depth - 1, depth) if before >= 0)
    db.execute(f"CREATE TABLE layer{depth + 1} AS SELECT DISTINCT key FROM ({union}){known}")
""",
    "Polars": """
import polars as pl
schema = {"key": pl.UInt64}
sizes, before, layer = [], pl.DataFrame(schema=schema), pl.DataFrame({"key": [first]}, schema=schema)
def move(parts):
    return sum(pl.col("key") // (1 << 4 * source) % 16 * (1 << 4 * to) for to, source in parts).cast(pl.UInt64)
moves = [move(parts).alias("key") for parts in reversals(n, lambda to, source: (to, source))]
while len(layer):
    sizes.append(len(layer))
    found = pl.concat([layer.lazy().select(each) for each in moves]).unique()
    for known in (before, layer):
        found = found.join(known.lazy(), on="key", how="anti")
    before, layer = layer, found.collect()
""",
    "NetworKit, graph by NumPy": """
import networkit, numpy
from math import factorial
keys, sizes = numpy.array([first], dtype=numpy.uint64), []
def moved(keys, parts):
    found = numpy.zeros_like(keys)
    for to, source in parts:
        found |= (keys >> numpy.uint64(4 * source) & numpy.uint64(15)) << numpy.uint64(4 * to)
    return found
moves = list(reversals(n, lambda to, source: (to, source)))
# All stacks: insert each pancake at each place.
stacks = [[]]
everything = numpy.array([[0]], dtype=numpy.uint8)
for pancake in range(1, n):
    everything = numpy.concatenate([numpy.insert(everything, place, pancake, axis=1) for place in range(pancake + 1)])
keys = numpy.sort(sum(everything[:, place].astype(numpy.uint64) << numpy.uint64(4 * place) for place in range(n)))
graph = networkit.GraphFromCoo((numpy.tile(numpy.arange(len(keys)), n - 1), numpy.concatenate(
    [numpy.searchsorted(keys, moved(keys, parts)) for parts in moves])), n=len(keys), directed=True)
search = networkit.distance.BFS(graph, int(numpy.searchsorted(keys, numpy.uint64(first))), storePaths=False)
search.run()
sizes = numpy.bincount(numpy.array(search.getDistances(), dtype=numpy.int64)).tolist()
""",
}


def measured(program: str, python: str, n: int) -> dict[str, Any]:
    """Run a program in a process of its own; return its layers, seconds, CPU seconds and peak of memory."""
    text = f"n = {n}\n{_KEYS}\n{PROGRAMS[program]}\nprint(*map(int, sizes))\n"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.py"
        file.write_text(text, encoding="utf-8")
        began = time.monotonic()
        process = subprocess.Popen([python, file], stdout=subprocess.PIPE, text=True)
        said = process.stdout.read() if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{program} ended with {status}")
    row = {"program": program, "n": n, "layers": [int(size) for size in said.split()]}
    row |= {"seconds": time.monotonic() - began, "cpu": usage.ru_utime + usage.ru_stime}
    return row | {"megabytes": usage.ru_maxrss / 1_000}


def main() -> None:
    """Measure all programs, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, help="Python with the other programs")
    parser.add_argument("--n", type=int, default=9)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", action="append", choices=PROGRAMS, help="a program; repeatable")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows = []
    for _ in range(given.repeat):
        for program in given.only or PROGRAMS:
            python = sys.executable if program.startswith("Hakoiri") else given.python
            rows.append(measured(program, python, given.n))
            if rows[-1]["layers"] != rows[0]["layers"]:
                raise SystemExit(f"{program} found {rows[-1]['layers']}, expected {rows[0]['layers']}")
    if given.out is not None:
        given.out.write_text(json.dumps(rows), encoding="utf-8")
    print(f"| {sum(rows[0]['layers']):,} stacks of {given.n} | s | CPU s | peak MB |\n|---|---|---|---|")
    for program in given.only or PROGRAMS:
        own = [row for row in rows if row["program"] == program]
        seconds, cpu, megabytes = (median(row[what] for row in own) for what in ("seconds", "cpu", "megabytes"))
        print(f"| {program} | {seconds:.1f} | {cpu:.1f} | {megabytes:,.0f} |")


if __name__ == "__main__":
    main()
