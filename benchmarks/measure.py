"""Measure Hakoiri on this machine: ``python -m benchmarks.measure --out result.json``.

Every figure is of a real process of its own, as a user would start it, with the kernels already compiled ("warm").
`seconds` is wall time, `cpu_seconds` user and system time of the process (and of workers and Redis, where they work for
it). `peak_mb` is its largest resident memory and `disk_mb` what the run stored, in units of 10**6 bytes. `computing` is
what the run itself reports. The median of the repeats is given, and all of them. The machine is noisy: compare two
versions in one sitting, and by ratio (``python -m benchmarks.compare``). With ``--publish`` the table of
docs/reports/measurements.md is written anew.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from benchmarks.pages import Table, commit, load, machine, record

HAKOIRI = Path(sys.executable).with_name("hakoiri")
TILES = ("tiles", "-o", "rows=3", "-o", "columns=4")
BOARDS = ("--size", "4x5", "--pieces", "2x2:1 1x2:* 2x1:* 1x1:*", "--empty", "2..")
#: The columns of the page: the name of a figure and its decimals.
COLUMNS = {
    "configurations": ("configurations", 0), "wall s": ("seconds", 2), "CPU s": ("cpu_seconds", 2),
    "computing s": ("computing", 3), "peak MB": ("peak_mb", 0), "disk MB": ("disk_mb", 1),
}  # fmt: skip
#: What each figure should stay under, in seconds or MB: the promises in docs/reports/measurements.md.
TARGETS: dict[str, dict[str, float]] = {
    "whole job": {"seconds": 2.0, "computing": 1.0, "peak_mb": 250},
    "explore from the start": {"computing": 0.15, "peak_mb": 250},
    "whole job through Redis, 2 workers": {"seconds": 6.0, "peak_mb": 250},
    "whole job through Redis, everything sent to workers, 2 workers": {"seconds": 6.0, "peak_mb": 250},
    "explore through Redis, every layer sent to workers, 2 workers": {"seconds": 6.0},
    "898 components by layers through Redis, everything sent to workers, 2 workers": {"seconds": 5.0},
    "ten runs queued behind a census of minutes, 2 runs at a time, 2 workers": {"seconds": 30.0},
    "hakoiri --help": {"seconds": 0.3},
    "tiles 3x4": {"computing": 12.0, "peak_mb": 2_500, "disk_mb": 700},
    "tiles 3x4 in 512 MB": {"peak_mb": 700, "disk_mb": 700},
    "pancakes 11": {"computing": 8.0},
    "cube2": {"computing": 1.0},
    "tiles 5x2": {"computing": 0.4},
    "hakoiri status": {"seconds": 0.3},
    "tilt of a 250x250 board, setting 1": {"microseconds": 60},
    "tilt of a 250x250 board, setting 2": {"microseconds": 60},
    "tilt of a 250x250 board, setting 3": {"microseconds": 60},
}
#: Whole spaces of about 100,000 configurations, or the nearest that there is, of every puzzle that can list them.
WHOLE = (
    "burnt-pancakes -o n=6", "burnt-pancakes -o n=7", "cube2", "hanoi -o pegs=3 -o discs=10",
    "hanoi -o pegs=4 -o discs=8", "hanoi -o pegs=5 -o discs=7", "klotski", "pancakes -o n=8", "pancakes -o n=9",
    "pancakes -o n=10", "pyraminx", "sliding --from ABBC/ABBC/EDDG/HFFJ/.II.", "sliding --from AABB/CDEF/G.../....",
    "tiles", "tiles -o metric=multi", "topspin -o n=9", "topspin -o n=10",
)  # fmt: skip
#: Seconds of computing that each may take.
_WHOLE_SECONDS = 10.0
#: Tilts between two looks at the clock: the sides of a game, from the full board on.
_TILTS = 200


def main() -> None:
    """Measure all, write the JSON, print a line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmark.json"), help="where the JSON goes")
    parser.add_argument("--repeat", type=int, default=5, help="measurements of each; of large spaces two less")
    parser.add_argument("--only", default="", metavar="TEXT", help="only figures whose name contains this")
    parser.add_argument("--publish", action="store_true", help="whole and huge spaces, too; write the page")
    arguments, load_before = parser.parse_args(), load()
    with tempfile.TemporaryDirectory(prefix="hakoiri-bench-") as folder:
        os.environ["HAKOIRI_DATA"] = folder
        os.environ.pop("HAKOIRI_REDIS", None)
        # Compile the kernels of everything, where that was not done yet.
        _timed("run", "klotski", "--whole")
        for small in ("tiles", "pancakes", "cube2", "peg-solitaire", "hanoi"):
            _timed("run", small)
        figures = dict(_figures(arguments.repeat, arguments.only, arguments.publish))
        if arguments.publish:
            figures |= dict(_whole_spaces(max(1, arguments.repeat - 2), arguments.only))
    result = {"machine": machine(), "commit": commit(), "figures": figures}
    arguments.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    for name, figure in figures.items():
        print(f"{name:55} {_line(name, figure)}")
    print(f"written to {arguments.out}")
    if arguments.publish:
        _publish(result, load_before)


def _publish(result: dict[str, Any], load_before: str) -> None:
    """Write the tables of the page: processes, and kernels alone."""
    names = {unit: column for column, (unit, _) in COLUMNS.items()}
    jobs = Table({"job": ""} | {column: f",.{digits}f" for column, (_, digits) in COLUMNS.items()} | {"promised": ""})
    kernels = Table({"kernel": "", "CPU µs": ".1f", "promised µs": ".0f"})
    for name, figure in result["figures"].items():
        targets = TARGETS.get(name, {})
        if "microseconds" in figure:
            kernels.rows.append([name, figure["microseconds"], targets.get("microseconds")])
            continue
        promised = "; ".join(f"{limit:g} {names[unit]}" for unit, limit in targets.items())
        jobs.rows.append([name, *(figure.get(unit) for unit, _ in COLUMNS.values()), promised])
    record("measurements", [jobs, kernels], f"{load_before.capitalize()} before, {load()} after.")


#: The name of a job, how often it runs, its command.
_Job = tuple[str, int, tuple[str, ...]]


def _jobs(repeat: int, huge: bool) -> list[_Job]:
    few = max(1, repeat - 2)
    jobs: list[_Job] = [
        ("whole job", repeat, ("run", "klotski", "--whole")),
        ("explore from the start", repeat, ("run", "klotski")),
        ("explore, mirrors merged", repeat, ("run", "klotski", "--merge-mirrors")),
        ("hakoiri --help", repeat, ("--help",)),
        ("hakoiri status", repeat, ("status", "last")),
        ("verify (sample)", repeat, ("verify", "last")),
        ("tiles 3x4", few, ("run", *TILES)),
        ("tiles 3x4 in 512 MB", few, ("run", *TILES, "--memory", "512MB")),
        ("pancakes 11", few, ("run", "pancakes", "-o", "n=11")),
        ("cube2", repeat, ("run", "cube2")),
        ("tiles 5x2", repeat, ("run", "tiles", "-o", "rows=5", "-o", "columns=2")),
        ("peg solitaire (directed)", few, ("run", "peg-solitaire")),
        ("peg solitaire (directed) in 128 MB", few, ("run", "peg-solitaire", "--memory", "128MB")),
        ("Hanoi, 4 pegs, 13 discs", few, ("run", "hanoi", "-o", "discs=13")),
    ]
    if huge:
        whole = ("run", "pancakes", "-o", "n=11", "--whole", "--diameters", "below=1")
        jobs += [
            ("pancakes 11, the whole space joined", 1, whole),
            ("all boards of 4x5 (docs/how-to/studies.md)", 1, ("study", "boards", *BOARDS)),
            ("Hanoi, 4 pegs, 15 discs", 1, ("run", "hanoi", "-o", "discs=15")),
        ]
    return jobs


def _figures(repeat: int, only: str, huge: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, times, arguments in _jobs(repeat, huge):
        if only in name:
            yield name, _median([_timed(*arguments) for _ in range(times)])
    for setting in (1, 2, 3):
        name = f"tilt of a 250x250 board, setting {setting}"
        if only in name:
            yield name, _tilts(setting, 10 * repeat)
    if shutil.which("redis-server") is None:
        print("no redis-server on this machine: its figures are left out", file=sys.stderr)
        return
    with _redis() as url, _workers(url, 2) as servers:
        everything = ("--redis", url, "--farm", "0")
        remote_jobs: list[_Job] = [
            ("whole job through Redis, 2 workers", repeat, ("run", "klotski", "--whole", "--redis", url)),
            (
                "whole job through Redis, everything sent to workers, 2 workers",
                repeat,
                ("run", "klotski", "--whole", *everything),
            ),
            ("explore through Redis, every layer sent to workers, 2 workers", repeat, ("run", "klotski", *everything)),
            (
                "898 components by layers through Redis, everything sent to workers, 2 workers",
                repeat,
                ("run", "klotski", "--whole", "--by", "layers", "--redis", url, "--farm", "always"),
            ),
            ("tiles 3x4 through Redis, 2 workers", max(1, repeat - 2), ("run", *TILES, "--redis", url)),
        ]
        for name, times, arguments in remote_jobs:
            if only in name:
                yield name, _median([_timed(*arguments, servers=servers) for _ in range(times)])
        name = "ten runs queued behind a census of minutes, 2 runs at a time, 2 workers"
        if only in name:
            yield name, _median([_queued(url) for _ in range(max(1, repeat - 2))])


def _queued(url: str) -> dict[str, float]:
    """Return the seconds from the start of a coordinator until ten short runs behind a long one are complete."""

    def said(*arguments: str) -> dict[str, Any]:
        ended = subprocess.run([HAKOIRI, *arguments, "--json"], capture_output=True, check=True)
        found: dict[str, Any] = json.loads(ended.stdout)
        return found

    long = said("enqueue", "hanoi", "-o", "pegs=4", "-o", "discs=14", "--whole")["run"]
    short = {said("enqueue", "klotski")["run"] for _ in range(10)}
    began = time.monotonic()
    with _running([str(HAKOIRI), "coordinator", "--redis", url, "--runs", "2"]):
        # A question takes as much of a processor as a run.
        _wait(lambda: short <= {row["run"] for row in said("runs")["runs"] if row["status"] == "complete"}, 300, 1.0)
        seconds = time.monotonic() - began
        if said("cancel", long)["status"] != "cancelled":
            sys.exit("the census behind which runs were queued has ended before them")
    return {"seconds": seconds}


def _whole_spaces(repeat: int, only: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for space in WHOLE:
        if only in space:
            name, run = f"{space} --whole", ("run", *space.split(), "--whole")
            # Compile what this puzzle alone needs.
            _timed(*run)
            TARGETS[name] = {"computing": _WHOLE_SECONDS}
            yield name, _median([_timed(*run) for _ in range(repeat)])


def _timed(*arguments: str, servers: Callable[[], float] = lambda: 0.0) -> dict[str, float]:
    """One process: its wall time, CPU time, peak memory and, for a run, the computing time and disk it reports.

    `servers` gives the CPU time so far of all processes that work for it; what they add counts too.
    """
    asks_json = arguments[0] in ("run", "status", "verify")
    with tempfile.TemporaryFile() as output:
        before = servers()
        began = time.perf_counter()
        process = subprocess.Popen(
            [HAKOIRI, *arguments, *(["--json"] if asks_json else [])], stdout=output, stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"hakoiri {' '.join(arguments)} ended with {process.returncode}")
        output.seek(0)
        figures = {
            "seconds": seconds,
            "cpu_seconds": usage.ru_utime + usage.ru_stime + servers() - before,
            "peak_mb": usage.ru_maxrss * 1024 / 1e6,
        }
        if arguments[0] == "run":
            summary = json.load(output)
            figures |= {
                "computing": summary["seconds"],
                "configurations": summary["configurations"],
                "disk_mb": summary["stored_bytes"] / 1e6,
            }
            if summary["configurations"] > 1_000_000:
                # The disk of a long benchmark would fill.
                subprocess.run([HAKOIRI, "delete", summary["run"], "--yes"], stdout=subprocess.DEVNULL, check=True)
    return figures


def _tilts(setting: int, repeat: int) -> dict[str, Any]:
    """Microseconds of CPU time of a tilt on one core: the kernel alone, in this process, over the moves of a game."""
    import numpy as np

    from hakoiri.guests.nakuron.board import random_board
    from hakoiri.guests.nakuron.kernels import field_of, ground_of, make_scratch, tilt
    from hakoiri.keys.splitmix import random_words

    board = random_board(250, setting, 1)
    ground, start = ground_of(board), field_of(board)
    scratch, words, measured = make_scratch(), random_words(setting), []
    sides = [next(words) % 4 for _ in range(_TILTS)]
    for _ in range(repeat + 1):
        field, after = start.copy(), np.empty_like(start)
        began = time.thread_time()
        for side in sides:
            tilt(field, side, ground, scratch, after)
            field, after = after, field
        measured.append((time.thread_time() - began) / _TILTS)
    # The first one compiles the kernel or loads it.
    median = 1e6 * statistics.median(measured[1:])
    return {"microseconds": round(median, 1), "all_seconds": [round(seconds, 8) for seconds in measured[1:]]}


def _median(measured: list[dict[str, float]]) -> dict[str, Any]:
    names = measured[0].keys()
    medians = {name: round(statistics.median(figures[name] for figures in measured), 4) for name in names}
    return medians | {"all_seconds": [round(figures["seconds"], 4) for figures in measured]}


def _line(name: str, figure: dict[str, Any]) -> str:
    parts = []
    for unit, value in figure.items():
        if unit != "all_seconds":
            limit = TARGETS.get(name, {}).get(unit)
            verdict = "" if limit is None else f" (target {limit}{'' if value < limit else ', MISSED'})"
            parts.append(f"{unit} {value:.3f}{verdict}")
    return ", ".join(parts)


@contextmanager
def _redis() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    with _running(command):
        url = f"redis://127.0.0.1:{port}/0"
        ping = ["redis-cli", "-p", str(port), "ping"]
        _wait(lambda: not subprocess.run(ping, capture_output=True, check=False).returncode)
        yield url


@contextmanager
def _workers(url: str, count: int) -> Iterator[Callable[[], float]]:
    """`count` worker processes; gives what tells the CPU seconds of all children of this process and theirs."""

    def living() -> bool:
        answer = subprocess.run([HAKOIRI, "health", "--redis", url, "--json"], capture_output=True, check=False)
        return bool(json.loads(answer.stdout)["workers"] == count)

    def cpu_seconds() -> float:
        times = [child.cpu_times() for child in psutil.Process().children(recursive=True)]
        return sum(each.user + each.system for each in times)

    with _running([str(HAKOIRI), "worker", "--redis", url, "-n", str(count)]):
        _wait(living, 120)
        yield cpu_seconds


@contextmanager
def _running(command: list[str]) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _wait(ready: Callable[[], bool], seconds: float = 30.0, pause: float = 0.1) -> None:
    until = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > until:
            sys.exit("a server did not start")
        time.sleep(pause)


if __name__ == "__main__":
    main()
