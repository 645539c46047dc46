"""Layers by Hakoiri, by one thread, and by C++ with bitmaps in memory: CPU seconds and memory, in turn.

    python benchmarks/baselines.py --repeat 5

The C++ program, `benchmarks/baselines.cpp`, is compiled first. It stores nothing; Hakoiri stores all layers, and its
seconds include its start. Both must find the same number of configurations. Each row is the median of pairs.
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

SOURCE = Path(__file__).with_suffix(".cpp")
#: Puzzle, its size for the C++ program, and the option that has it here.
JOBS = [("pancakes", 10, "n"), ("pancakes", 11, "n"), ("hanoi", 13, "discs"), ("hanoi", 14, "discs")]


class Spent(NamedTuple):
    """The CPU and wall seconds of a process and its children, its peak memory in MB, and what it found."""

    cpu: float
    wall: float
    memory: int
    found: int


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


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="pairs of each job")
    repeat = parser.parse_args().repeat
    print("| job | configurations | C++ CPU s | Hakoiri CPU s | ratio | C++ MB | Hakoiri MB |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "baselines")
        subprocess.run(["g++", "-O3", "-march=native", "-std=c++17", "-o", program, str(SOURCE)], check=True)
        for name, size, option in JOBS:
            pairs = list[tuple[Spent, Spent]]()
            # The first run compiles kernels.
            for number in range(repeat + 1):
                with tempfile.TemporaryDirectory() as data:
                    here = [sys.executable, "-m", "hakoiri", "run", name, "-o", f"{option}={size}", "--workers", "1"]
                    both = [program, name, str(size)], [*here, "--data", data, "--json"]
                    one, other = map(spent, both)
                if one.found != other.found:
                    sys.exit(f"{name} {size}: C++ found {one.found:,}, Hakoiri {other.found:,}")
                pairs += [(one, other)] if number else []
            theirs, ours = (median(pair[side].cpu for pair in pairs) for side in (0, 1))
            ratio = median(other.cpu / one.cpu for one, other in pairs)
            memory = " | ".join(str(max(pair[side].memory for pair in pairs)) for side in (0, 1))
            figures = f"{theirs:.2f} | {ours:.2f} | {ratio:.2f} | {memory}"
            print(f"| {name} {size} | {pairs[0][0].found:,} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
