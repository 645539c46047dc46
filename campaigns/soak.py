"""Drive runs by `serve` and `coordinator` for some minutes under harms chosen by a seed (`campaigns.mayhem.soak`).

    python -m campaigns.soak --minutes 60 --seed 1

The result is a line of the results file of `campaigns.mayhem`, whose `--publish` puts it on the page. Exits 1 if a
promise of Hakoiri's was not kept.
"""

import argparse
import json
import sys
from pathlib import Path

from campaigns.mayhem.__main__ import campaign
from campaigns.mayhem.places import own_folder, usual_place
from campaigns.mayhem.soak import Soak
from campaigns.mayhem.trials import TrialBooks


def main() -> int:
    """Do what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser("soak", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1, help="which runs, harms and moments")
    parser.add_argument("--results", type=Path, default=Path("mayhem.jsonl"), help="where it is written down")
    asked = parser.parse_args()
    with own_folder(usual_place()) as place:
        books = TrialBooks(asked.results)
        rows = list(campaign([(Soak(place), asked.minutes)], float("inf"), asked.seed, books))
    for row in rows:
        print(json.dumps(row))
    return int(any(row["faults"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
