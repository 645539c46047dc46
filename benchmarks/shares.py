"""Measure the share of plain workers in the processor time of work in independent chunks.

    python -m benchmarks.shares
    python -m benchmarks.shares --only verify --only hardest

The script runs each command of `WORKS` twice, by threads and with two workers and their own Redis, each time in a new
data directory with the runs that the command needs. It prints a table row for each: the processor seconds of the
command by threads; of the coordinator, the workers and Redis; and the workers' share of the time of coordinator and
workers. Seconds are user and system, start-up included.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.pages import Table, load, record
from benchmarks.roles import Team, cpu_of
from hakoiri.guests.nakuron.board import random_board

_SLIDING = ("sliding", "--from", "MH.CC/AAJDI/AAKD./EELBB/GFFBB")
_TILES_2X4 = ("tiles", "-o", "rows=2", "-o", "columns=4")
#: The file name of a board of Nakuron; in a command, a placeholder for its path.
BOARD = "BOARD"
_NAKURON_SIZE = 48


class Work(NamedTuple):
    """A command of `hakoiri`, and the commands that must run before it."""

    name: str
    command: Sequence[str]
    before: Sequence[Sequence[str]] = ()


WORKS = [
    Work("components", ("run", "sliding", "--from", ".ABCD/EFGHI", "-o", "distinct=all", "--whole",
                        "--diameters", "below=2")),
    Work("small components", ("run", "klotski", "--whole", "--farm", "1000")),
    Work("eccentricities", ("diameter", "last", "--all"), [("run", *_SLIDING)]),
    Work("goal distances, directed", ("hardest", "last"), [("run", "superpuzz", "-o", "columns=5")]),
    Work("verify", ("verify", "last", "--full"), [("run", "tiles")]),
    Work("verify, a census", ("verify", "last", "--full"), [("run", *_TILES_2X4, "--whole")]),
    Work("strong components", ("components", "last", "--strong"), [("run", "superpuzz", "-o", "columns=5")]),
    Work("a tree", ("run", "magic-star", "-o", "points=10")),
    Work("a study of deals", ("study", "deals", "gap", "--sizes", "8", "--deals", "300")),
    Work("a hunt", ("hunt", "gap", "-o", "ranks=7", "--seed", "3", "--legs", "24")),
    Work("a study of boards", ("study", "boards", "--size", "4x4", "--pieces", "2x2:1 1x2:* 2x1:* 1x1:*",
                               "--empty", "2..")),
    Work("plays", ("optimise", "nakuron", "--from", BOARD, "--rounds", "2", "--width", "2000", "--time", "10m")),
]  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=[work.name for work in WORKS])
    parser.add_argument("--page", action="store_true", help="write docs/reports/scaling.md")
    given = parser.parse_args()
    chosen = given.only
    seconds = dict.fromkeys(("threads", "coordinator", "workers", "Redis"), ".1f")
    table = Table({"work": ""} | seconds | {"workers' share": ".0%"})
    print(table.head())
    for work in WORKS:
        if not chosen or work.name in chosen:
            table.rows.append(_row(work))
            print(table.line(table.rows[-1]), flush=True)
    if given.page:
        record("shares", [table], f"{load().capitalize()}.")


def _row(work: Work) -> list[str | float]:
    with tempfile.TemporaryDirectory() as here, tempfile.TemporaryDirectory() as there, Team({}, workers=2) as team:
        for data in (here, there):
            Path(data, BOARD).write_text(random_board(_NAKURON_SIZE, 1, 1).text())
            for command in work.before:
                cpu_of(command, data)
        command = [str(Path(here, BOARD)) if word == BOARD else word for word in work.command]
        threads, cpu = cpu_of(command, here), team.cpu_of(command, there)
    share = cpu["workers"] / (cpu["coordinator"] + cpu["workers"])
    return [work.name, threads, cpu["coordinator"], cpu["workers"], cpu["control"], share]


if __name__ == "__main__":
    main()
