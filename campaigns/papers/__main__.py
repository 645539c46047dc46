"""Every claim of the five papers beside what Hakoiri's commands say.

    python -m campaigns.papers                 # all five; run it again to continue where it was stopped
    python -m campaigns.papers gap superpuzz --until 30
    python -m campaigns.papers --show          # print the tables of what is done
    python -m campaigns.papers --publish       # write results.json and docs/reports/papers.md

Exits with code 1 if a command fails, or if a claim differs without a stated reason.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence

from campaigns.atlas.entries import Answer
from campaigns.atlas.measuring import Desk, FailedError, StoppedError
from campaigns.books import Books
from campaigns.options import Options
from campaigns.papers.claims import Paper, Work, unexpected
from campaigns.papers.page import page, publish, summary
from campaigns.papers.registry import PAPERS


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    options = Options("papers", __doc__, "paper", PAPERS)
    options.add_argument("--show", action="store_true", help="run nothing, print what is done")
    return options.parse(given)


def answered(paper: Paper, work: Work, desk: Desk, books: Books) -> bool:
    """Run a work's commands and write its claims down; whether all is as expected."""
    name = f"{paper.name}: {work.name}"
    try:
        desks = [desk.beside(f"{number}") for number in range(len(work.lines))]
        answers = [each.answer(line) for each, line in zip(desks, work.lines, strict=True)]
    except StoppedError:
        print(f"{name}: stopped; run the same command again to continue", file=sys.stderr)
        return True
    except FailedError as error:
        print(f"{name} FAILED: {error}", file=sys.stderr)
        return False
    rows = work.rows(answers)
    seconds = [cpu_seconds(each, answer) for each, answer in zip(desks, answers, strict=True)]
    books.add({"paper": paper.name, "work": work.name, "asked": work.asked, "cpu": seconds, "rows": rows})
    differences = unexpected(rows)
    print(f"{name}: {sum(seconds):.1f} CPU s", *differences, sep="\n  NOT AS IN THE PAPER: ", file=sys.stderr)
    return not differences


def cpu_seconds(desk: Desk, answer: Answer) -> float:
    """The cost of a command; of a study that others began, too, the cost of its deals."""
    deals = sum(size["effort"]["seconds"] for size in answer.get("sizes", ()) if "effort" in size)
    return float(round(max(deals, desk.spent.cpu_seconds or 0.0), 1))


def main(given: Sequence[str] | None = None) -> int:
    """Do what the command line asks for; return the exit code."""
    asked = arguments(given)
    asked.data.mkdir(parents=True, exist_ok=True)
    end, good = time.monotonic() + 60 * asked.until, True
    papers = {name: paper for name, paper in PAPERS.items() if not asked.papers or name in asked.papers}
    books = Books(asked.data / "papers.jsonl", "paper", "work", "asked")
    works = [(paper, work) for paper in papers.values() for work in paper.works if work.short or not asked.short]
    for paper, work in [] if asked.show or asked.publish else works:
        known = {"paper": paper.name, "work": work.name, "asked": work.asked}
        if not books.has(known) and time.monotonic() < end:
            folder = asked.data / paper.name / work.folder
            good &= answered(paper, work, Desk(folder, late=lambda: time.monotonic() > end), books)
    results = summary(books.rows(), PAPERS if asked.publish else papers)
    if asked.publish:
        publish(results)
    print(json.dumps(results) if asked.json else page(results))
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
