"""Layers by Hakoiri, by one thread, and by C++ with bitmaps in memory: CPU seconds and memory, in turn.

    python -m benchmarks.baselines --repeat 5 --page
    python -m benchmarks.baselines --repeat 1 --large        # pancakes of 12 and 15 discs, too

The C++ program, `benchmarks/baselines.cpp`, is compiled first. It stores nothing. Hakoiri stores all layers, or the
depths of all configurations; its seconds include its start. All must find the same number of configurations. Each row
is the median of rounds, with the nanoseconds that C++ takes for a configuration. The last line is the roofline of the
same minute: the nanoseconds of setting one random bit, in bitmaps of four sizes.
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
from typing import NamedTuple

from benchmarks.pages import Table, load, record

SOURCE = Path(__file__).with_suffix(".cpp")
#: Puzzle, its size for the C++ program, and the options that have it here.
JOBS = [
    ("pancakes", 10, ["n=10"]), ("pancakes", 11, ["n=11"]), ("tiles", 4, ["rows=3", "columns=4"]),
    ("hanoi", 13, ["discs=13"]), ("hanoi", 14, ["discs=14"]),
]  # fmt: skip
LARGE = [("pancakes", 12, ["n=12"]), ("hanoi", 15, ["discs=15"])]
KEEPS = ("layers", "depths")
#: Bytes of the roofline's bitmaps, as powers of two: in the first-level cache, in the second, and in memory.
ROOFLINES = {14: "16 kB", 21: "2 MB", 27: "128 MB", 30: "1 GB"}


class Spent(NamedTuple):
    """The CPU and wall seconds of a process, its peak memory in MB, what it found, and the MB that it left on disk."""

    cpu: float
    wall: float
    memory: int
    found: int
    disk: int = 0


def spent(command: list[str]) -> Spent:
    """Run a command that prints JSON, or the number of configurations last."""
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        text = process.stdout.read() if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    found = json.loads(text)["configurations"] if text.startswith("{") else int(text.split()[-1])
    return Spent(usage.ru_utime + usage.ru_stime, time.perf_counter() - began, usage.ru_maxrss >> 10, found)


def spent_by_hakoiri(name: str, options: list[str], keep: str) -> Spent:
    """Make the run in an empty folder."""
    with tempfile.TemporaryDirectory() as data:
        given = [word for option in options for word in ("-o", option)]
        command = [sys.executable, "-m", "hakoiri", "run", name, *given, "--keep", keep, "--workers", "1", "--json"]
        found = spent([*command, "--data", data])
        return found._replace(disk=sum(file.stat().st_blocks for file in Path(data).rglob("*")) * 512 >> 20)


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="rounds of each job")
    parser.add_argument("--large", action="store_true", help="also jobs that take minutes")
    parser.add_argument("--page", action="store_true", help="write docs/explanation/comparison.md")
    arguments = parser.parse_args()
    columns = {"job": "", "configurations": ",", "C++: CPU s": ".2f", "C++: ns each": ".1f", "C++: MB": ","}
    for keep in KEEPS:
        columns |= {f"{keep}: CPU s": ".2f", f"{keep}: ratio": ".2f", f"{keep}: MB": ",", f"{keep}: disk MB": ","}
    table = Table(columns)
    print(table.head())
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "baselines")
        subprocess.run(["g++", "-O3", "-march=native", "-std=c++17", "-o", program, str(SOURCE)], check=True)
        for name, size, options in [*JOBS, *(LARGE if arguments.large else [])]:
            rounds = list[list[Spent]]()
            # The first round compiles kernels.
            for number in range(arguments.repeat + 1):
                each = [spent([program, name, str(size)])]
                each += [spent_by_hakoiri(name, options, keep) for keep in KEEPS]
                if len({one.found for one in each}) > 1:
                    sys.exit(f"{name} {size}: not the same number of configurations: {each}")
                rounds += [each] if number else []
            theirs, *ours = zip(*rounds, strict=True)
            cpu, found = median(one.cpu for one in theirs), theirs[0].found
            row = [f"{name} {', '.join(options)}", found, cpu, 1e9 * cpu / found, max(one.memory for one in theirs)]
            for mine in ours:
                ratio = median(one.cpu / other.cpu for one, other in zip(mine, theirs, strict=True))
                memory, disk = max(one.memory for one in mine), max(one.disk for one in mine)
                row += [median(one.cpu for one in mine), ratio, memory, disk]
            table.rows.append(row)
            print(table.line(row), flush=True)
        marks = (
            f"{subprocess.check_output([program, 'roofline', str(power)], text=True).strip()} ns in {size}"
            for power, size in ROOFLINES.items()
        )
        table.below = f"A random mark of the same minute takes {', '.join(marks)}."
        print(f"\n{table.below}")
    if arguments.page:
        record("baselines", [table], f"Medians of {arguments.repeat} rounds; {load()}.")


if __name__ == "__main__":
    main()
