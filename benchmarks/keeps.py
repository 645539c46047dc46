"""Measure CPU seconds, memory and disk by each `--keep`, and the seconds of four questions.

    python -m benchmarks.keeps                 # one thread each
    python -m benchmarks.keeps --only tiles --workers 2

Seconds are of whole processes, CPU for the runs and by the clock for the questions; "-" is a question that is refused.
The digests of all runs of a space must be the same.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.pages import Table, load, record

SPACES = {
    "tiles 3x4": ("tiles", "-o", "rows=3", "-o", "columns=4"),
    "pancakes 11": ("pancakes", "-o", "n=11"),
    "pancakes 12": ("pancakes", "-o", "n=12"),
    "Hanoi, 15 discs": ("hanoi", "-o", "discs=15"),
    "cube 2x2x2": ("cube2",),
}
KEEPS = ("layers", "frontier", "depths")
QUESTIONS = ("distance", "path", "hardest", "verify")


class Done(NamedTuple):
    """The output of a command, its CPU and wall seconds, and its peak memory in MB."""

    row: dict[str, object] | None
    cpu: float
    wall: float
    memory: int


def done(*words: str) -> Done:
    """Run a command of Hakoiri's; its output is ``None`` if it was refused."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "hakoiri", *words, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        text = process.stdout.read() if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    row = json.loads(text) if process.returncode == 0 else None
    return Done(row, usage.ru_utime + usage.ru_stime, time.perf_counter() - began, usage.ru_maxrss >> 10)


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="spaces whose name has this text")
    parser.add_argument("--workers", default="1", metavar="N", help="threads")
    parser.add_argument("--page", action="store_true", help="write docs/explanation/limits.md")
    given = parser.parse_args()
    columns = {"space": "", "keep": "", "CPU s": ".2f", "s": ".2f", "MB": ",", "disk MB": ","}
    table = Table(columns | {f"{question} s": ".2f" for question in QUESTIONS})
    print(table.head())
    for name, words in SPACES.items():
        if given.only not in name:
            continue
        digests = set[object]()
        with tempfile.TemporaryDirectory() as folder:
            # The first run compiles kernels.
            for number, keep in enumerate((KEEPS[0], *KEEPS)):
                data = str(Path(folder) / keep)
                shutil.rmtree(data, ignore_errors=True)
                run = done("run", *words, "--keep", keep, "--workers", given.workers, "--data", data)
                if run.row is None:
                    sys.exit(f"{name} --keep {keep} failed")
                digests.add(run.row["digest"])
                disk = sum(file.stat().st_blocks for file in Path(data).rglob("*")) * 512 >> 20
                path = done("path", "last", "--to", "farthest", "--data", data)
                end = path.row["configurations"][-1] if path.row else None  # type: ignore[index]
                asked = [
                    done("distance", "last", str(end), "--data", data) if end else Done(None, 0, 0, 0), path,
                    done("hardest", "last", "--data", data), done("verify", "last", "--data", data),
                ]  # fmt: skip
                row: list[Any] = [name, keep, run.cpu, run.wall, run.memory, disk]
                row += ["-" if one.row is None else one.wall for one in asked]
                if number:
                    table.rows.append(row)
                    print(table.line(row), flush=True)
        if len(digests) > 1:
            sys.exit(f"{name}: the digests differ: {digests}")
    if given.page:
        record("keeps", [table], f"One thread; {load()}.")


if __name__ == "__main__":
    main()
