"""Measure how rules in plain Python get faster with workers, against threads, which take turns.

    python -m benchmarks.farm --page
    python -m benchmarks.farm --repeat 5 --board "A...../..#..B/....#./.*..../#...#./C....D"

Runs Ricochet Robots of `examples/` by threads, then by the coordinator with one and with two workers, `--farm auto`,
and with one worker that is sent everything. Prints medians of the seconds that the runs computed, as a table for
docs/explanation/scaling.md. The model is that of workers each on a core of its own: what one worker and the
coordinator's thread took less half of the expanding, plus the expanding shared by all.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.pages import Table, load, record
from tests.support.commands import Hakoiri
from tests.support.servers import RedisServer, started_workers

HAKOIRI = Path(sys.executable).parent / "hakoiri"
PUZZLE = f"{Path(__file__).resolve().parents[1] / 'examples' / 'ricochet_robots.py'}:RicochetRobots"
BOARD = "A...../..#..B/....#./.*..../#...#./C....D"
#: Workers in the model.
MODELLED = (2, 4)


def seconds_of(board: str, data: str, *options: str) -> tuple[float, dict[str, Any]]:
    """Return the seconds that a run computed, and its report."""
    command = [str(HAKOIRI), "run", PUZZLE, "--from", board, "--data", data, "--json", *options]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return float(report["seconds"]), report


@contextmanager
def farm(place: Path, workers: int) -> Iterator[str]:
    """Yield the URL of a Redis with so many workers that know the puzzle."""
    command = Hakoiri(place)
    with (
        RedisServer(place / "redis") as server,
        started_workers(command, server.url, workers, options=("--puzzle", PUZZLE)),
    ):
        yield server.url
    command.close()


def measured(board: str, repeat: int) -> Iterator[tuple[str, list[float], str]]:
    """Yield each way to run it, its seconds, and the digest."""
    with tempfile.TemporaryDirectory() as place:
        ways: list[tuple[str, int, Sequence[str]]] = [
            ("threads", 0, ("--farm", "never")), ("threads, one of them", 0, ("--workers", "1")), ("processes", 0, ()),
            ("1 worker, and a thread", 1, ()),
            ("1 worker alone", 1, ("--farm", "always")), ("2 workers, and a thread", 2, ()),
        ]  # fmt: skip
        for number, (name, workers, options) in enumerate(ways):
            folder = Path(place, str(number))
            folder.mkdir()
            if not workers:
                found = [seconds_of(board, place, *options) for _ in range(repeat)]
            else:
                with farm(folder, workers) as url:
                    # The first one also loads the puzzle.
                    seconds_of(board, place, "--redis", url, *options)
                    found = [seconds_of(board, place, "--redis", url, *options) for _ in range(repeat)]
            yield name, [seconds for seconds, _ in found], found[-1][1]["digest"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser("farm", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--board", default=BOARD)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--page", action="store_true", help="write docs/explanation/scaling.md")
    asked = parser.parse_args()
    found = list(measured(asked.board, asked.repeat))
    if len({digest for *_, digest in found}) > 1:
        sys.exit(f"the digests differ: {found}")
    seconds = {name: statistics.median(times) for name, times, _ in found}
    alone = seconds["threads"]
    table = Table({"expanded by": "", "s": ".2f", "times as fast as threads": ".2f"})
    table.rows += [[name, each, alone / each] for name, each in seconds.items()]
    rest = seconds["1 worker, and a thread"] - alone / 2
    for workers in MODELLED:
        each = rest + alone / (workers + 1)
        table.rows.append([f"model: {workers} workers on cores of their own, and a thread", each, alone / each])
    print(table)
    if asked.page:
        record("farm", [table], f"Medians of {asked.repeat}; {load()}.")


if __name__ == "__main__":
    main()
