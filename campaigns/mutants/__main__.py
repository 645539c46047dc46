"""Change one operator of the product at a time, by seed, and see whether a test fails.

    python -m campaigns.mutants                     # the first 300; started again, it goes on where it was stopped
    python -m campaigns.mutants --count 50 --minutes 10
    python -m campaigns.mutants --again             # those that survived, with the tests of judged.json
    python -m campaigns.mutants --only "Session.commit" --tests tests/coordinator/test_session.py
                                                    # those with these words in their names; nothing is written down
    python -m campaigns.mutants --publish           # writes campaigns/mutants/results.json and docs/reports/mutants.md

Exits 1 if a mutant survived that is not judged.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from campaigns.books import Books
from campaigns.mutants.entered import Choice, read_entered
from campaigns.mutants.page import NOTICED, judged, last_rows, publish
from campaigns.mutants.sites import Mutant, mutants
from campaigns.mutants.trying import Copy

#: Seconds of processor time that the tests of one mutant may take together where nothing is changed.
_MOST_SECONDS, _MOST_AGAIN_SECONDS = 6.0, 25.0


def campaign(
    wanted: list[Mutant], copy: Copy, tests: Choice | None, asked: argparse.Namespace, most: float
) -> Iterator[tuple[dict[str, Any], float]]:
    """The rows of mutants as they are tried, each with its seconds, until the time is up.

    The tests are those that are given, else those of its judgement, and of `tests` those that enter it.
    """
    end, judgements = time.monotonic() + 60 * asked.minutes, judged()
    for mutant in wanted:
        if time.monotonic() > end:
            return
        began = time.monotonic()
        own = asked.tests or judgements.get(mutant.name, {}).get("tests", [])
        chosen = own + [test for test in tests.of(mutant, most) if test not in own] if tests else own
        outcome = copy.outcome(mutant, chosen, asked.limit)
        row = {"mutant": mutant.name, "seed": asked.seed, "line": mutant.line, "kernel": mutant.is_kernel}
        yield row | {"tests": len(chosen), "outcome": outcome}, time.monotonic() - began


def arguments() -> argparse.Namespace:
    """Those of the command line."""
    parser = argparse.ArgumentParser("mutants", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="how many, those in the results file with them")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no mutant after that time")
    parser.add_argument("--limit", type=float, default=60, help="seconds of processor time for the tests of one mutant")
    parser.add_argument("--seed", type=int, default=1, help="which mutants")
    parser.add_argument("--again", action="store_true", help="only those that were not noticed, with more tests")
    parser.add_argument("--only", metavar="WORDS", help="only those with these words in their names")
    parser.add_argument("--tests", nargs="+", default=[], help="these tests, instead of those that enter the function")
    parser.add_argument("--results", type=Path, default=Path("mutants.jsonl"), help="where outcomes are written down")
    parser.add_argument("--place", type=Path, required="--publish" not in sys.argv, help="a folder for the copy")
    parser.add_argument("--publish", action="store_true", help="write the results file into docs/reports/mutants.md")
    return parser.parse_args()


def main() -> int:
    """Do what the command line asks for; return the exit code."""
    asked = arguments()
    books = Books(asked.results, "mutant")
    if asked.publish:
        publish(last_rows(books.rows()))
        return 0
    wanted = [mutant for mutant in mutants(asked.seed) if asked.only is None or asked.only in mutant.name][
        : asked.count
    ]
    if asked.again:
        survivors = {row["mutant"] for row in last_rows(books.rows()) if row["outcome"] not in NOTICED}
        wanted = [mutant for mutant in wanted if mutant.name in survivors]
    elif not asked.only:
        wanted = [mutant for mutant in wanted if not books.has({"mutant": mutant.name})]
    most = _MOST_AGAIN_SECONDS if asked.again else _MOST_SECONDS
    copy = Copy(asked.place)
    tests = None
    if not asked.tests:
        copy.note_entered()
        tests = read_entered(copy.tree, copy.entered)
    left = 0
    for row, seconds in campaign(wanted, copy, tests, asked, most):
        print(
            f"{row['outcome']}: {row['mutant']} (line {row['line']}, {row['tests']} tests, {seconds:.1f} s)", flush=True
        )
        if not asked.only:
            books.add(row)
        left += row["outcome"] not in NOTICED and row["mutant"] not in judged()
    return int(left > 0)


if __name__ == "__main__":
    sys.exit(main())
