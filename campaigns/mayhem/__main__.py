"""Cause mayhem on purpose, by seeds and by the thousand.

    python -m campaigns.mayhem                          # all parts, each with its usual number of trials
    python -m campaigns.mayhem --part kills --count 50 --minutes 10
    python -m campaigns.mayhem --part kills --case worker --case tree    # those trials alone
    python -m campaigns.mayhem --only kills:417         # one trial again; nothing is written down
    python -m campaigns.mayhem --publish        # writes campaigns/mayhem/results.json and docs/reports/mayhem.md

Each trial that is over is a line of the results file; started again, the campaign goes on where it was stopped.
Exits 1 if a promise of Hakoiri's was not kept.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from campaigns.mayhem.damage import Damage
from campaigns.mayhem.disks import Disks
from campaigns.mayhem.failovers import Failovers
from campaigns.mayhem.farmed import Farmed
from campaigns.mayhem.full import Full
from campaigns.mayhem.hosts import Hosts
from campaigns.mayhem.keepers import Copies, Keepers
from campaigns.mayhem.kills import Kills
from campaigns.mayhem.legs import Legs
from campaigns.mayhem.liars import Liars
from campaigns.mayhem.logs import Logs
from campaigns.mayhem.memory import Memory
from campaigns.mayhem.page import publish, summary
from campaigns.mayhem.pairs import Pairs
from campaigns.mayhem.payloads import Payloads
from campaigns.mayhem.places import own_folder, usual_place
from campaigns.mayhem.poison import Poison
from campaigns.mayhem.queues import Queues
from campaigns.mayhem.requests import Requests
from campaigns.mayhem.restored import Restored
from campaigns.mayhem.shim import preload
from campaigns.mayhem.soak import Soak
from campaigns.mayhem.trials import ImpossibleError, Outcome, Part, Trial, TrialBooks
from campaigns.mayhem.web import Web

PARTS: dict[str, type[Part]] = {
    part.name: part
    for part in (
        Kills, Farmed, Legs, Pairs, Keepers, Copies, Restored, Disks, Full, Logs, Memory, Poison, Queues, Failovers,
        Hosts, Liars, Payloads, Web, Requests, Damage, Soak,
    )
}  # fmt: skip


def tried(part: Part, trial: Trial, kept: Path) -> tuple[Outcome, float]:
    """Run a trial; return its outcome and seconds. Whatever it raises is a fault.

    The files of a trial in which a promise was not kept are kept, below `kept`.
    """
    began = time.monotonic()
    try:
        outcome = part.run(trial)
    except ImpossibleError:
        raise
    except Exception as error:
        outcome = Outcome("", faults=[f"{type(error).__name__}: {error}"])
    left = part.place / trial.folder
    if outcome.faults and left.exists():
        kept.mkdir(parents=True, exist_ok=True)
        shutil.move(left, kept / f"{trial.seed}-{trial.folder}")
    shutil.rmtree(left, ignore_errors=True)
    return outcome, time.monotonic() - began


def campaign(
    trials: Iterable[tuple[Part, int]], minutes: float, seed: int, books: TrialBooks
) -> Iterator[dict[str, Any]]:
    """The rows of the trials that were not in the books yet, as they come, until the time is up."""
    on = {"code": code()}
    end = time.monotonic() + 60 * minutes
    for part, number in trials:
        trial = Trial(part.name, number, seed)
        if time.monotonic() > end:
            return
        if not books.has(vars(trial)):
            try:
                outcome, seconds = tried(part, trial, books.kept)
            except ImpossibleError as error:
                print(f"{trial.name} is left out: {error}", file=sys.stderr)
                continue
            yield books.add(vars(trial) | on | vars(outcome) | {"seconds": round(seconds, 2)})


def code() -> str:
    """The commit of Hakoiri's that is tried, with a mark if files differ from it; "unknown" without git or a clone."""
    asked = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=False, cwd=Path(__file__).parent)
    except FileNotFoundError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def wanted(
    parts: list[Part], count: int | None, short: bool = False, names: Collection[str] = ()
) -> Iterator[tuple[Part, int]]:
    """Yield the trials of a campaign: `count` of each part, by default the usual number, or those of its short form.

    Leaves out trials whose case lacks one of `names`.
    """
    for part in parts:
        for number in part.short if short else range(part.usual if count is None else count):
            if {*names} <= {*part.case_of(number).split(" / ")}:
                yield part, number
        part.close()


def arguments() -> argparse.Namespace:
    """Those of the command line."""
    parser = argparse.ArgumentParser("mayhem", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--part", action="append", choices=PARTS, help="may be repeated; default: all")
    parser.add_argument("--count", type=int, help="trials of each part, those in the results file with them")
    parser.add_argument("--short", action="store_true", help="a few trials of each part, as in CI")
    parser.add_argument("--case", action="append", default=[], help="of these those of this way, or kind of run, alone")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no trial after that time")
    parser.add_argument("--seed", type=int, default=1, help="which moments and places")
    parser.add_argument("--only", metavar="PART:NUMBER", help="one trial, whether it is in the results file or not")
    parser.add_argument("--results", type=Path, default=Path("mayhem.jsonl"), help="where trials are written down")
    parser.add_argument("--place", type=Path, default=usual_place(), help="where its files lie; in memory if it can be")
    parser.add_argument("--publish", action="store_true", help="write the results file into docs/reports/mayhem.md")
    parser.add_argument("--json", action="store_true", help="print one object")
    return parser.parse_args()


def main() -> int:
    """Do what the command line asks for; return the exit code."""
    asked = arguments()
    books = TrialBooks(asked.results)
    if asked.publish:
        publish(summary(books.rows(), PARTS), PARTS)
        return 0
    with own_folder(asked.place) as place:
        # Before anything is started: what is forked has what the process has that it is forked from.
        preload(place)
        if asked.only:
            name, _, number = asked.only.partition(":")
            part, trial = PARTS[name](place), Trial(name, int(number), asked.seed)
            outcome, seconds = tried(part, trial, books.kept)
            part.close()
            print(json.dumps(vars(trial) | vars(outcome) | {"seconds": round(seconds, 2)}))
            return int(bool(outcome.faults))
        faults = 0
        parts = [PARTS[name](place) for name in asked.part or PARTS]
        for row in campaign(wanted(parts, asked.count, asked.short, asked.case), asked.minutes, asked.seed, books):
            faults += bool(row["faults"])
            print(f"{row['part']}:{row['number']} {row['case']}: {row['figures']} {row['seconds']} s", file=sys.stderr)
            for fault in row["faults"]:
                print(f"  NOT KEPT: {fault}", file=sys.stderr)
        if asked.json:
            print(json.dumps(summary(books.rows(), PARTS)))
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
