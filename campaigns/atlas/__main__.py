"""Tables of puzzles, made by Hakoiri's own commands, each with what it cost and beside what is published.

    python -m campaigns.atlas                        # every part, the small entries of each first
    python -m campaigns.atlas pancakes --until 30 --memory 4GB
    python -m campaigns.atlas --reuse tiles:2x7=runs/tiles-2x7    # a run that is there already
    python -m campaigns.atlas --publish              # writes results.json, docs/reports/atlas.md and its picture

Each entry that is over is a line of the books; started again, the atlas goes on where it was stopped, also in the midst
of an entry. Exits 1 if a command failed, if it could not be verified, or if a value is not the published one.
"""

import argparse
import fcntl
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from campaigns.atlas.entries import Entry, Part
from campaigns.atlas.measuring import Desk, FailedError, StoppedError
from campaigns.atlas.page import publish, published, summary
from campaigns.atlas.registry import PARTS
from campaigns.atlas.work import carried_out, finished, known_otherwise, tidied
from campaigns.books import Books
from campaigns.options import Options


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    options = Options("atlas", __doc__, "part", PARTS)
    options.add_argument("--only", default="*", metavar="NAME", help="entries of this name or pattern: '1? discs*'")
    options.add_argument("--memory", metavar="SIZE", help="memory that each command may take")
    options.add_argument("--reuse", metavar="PART:ENTRY=RUN", help="the folder of a finished run, for one entry")
    return options.parse(given)


def wanted(parts: Sequence[Part], only: str, short: bool) -> list[tuple[Part, Entry]]:
    """The entries of a call: the first of each part, then the second of each, and so on."""
    entries = [
        (place, part, entry)
        for part in parts
        for place, entry in enumerate(part.entries)
        if (entry.short or not short) and fnmatchcase(entry.name, only)
    ]
    return [(part, entry) for _, part, entry in sorted(entries, key=lambda found: found[0])]


def entered(part: Part, entry: Entry, desk: Desk, run: Path | None, books: Books) -> bool:
    """Carry an entry out, or take its finished run, and write it down; whether all is well with it."""
    name = f"{part.name}:{entry.name}"
    try:
        found = finished(entry, run, desk) if run else carried_out(entry, desk)
    except StoppedError as error:
        print(f"{name} is stopped in: {error}; the same command goes on", file=sys.stderr)
        return True
    except FailedError as error:
        print(f"{name} FAILED: {error}", file=sys.stderr)
        return False
    row = books.add({"part": part.name} | found)
    differences = known_otherwise(part, row["rows"])
    seconds = sum(cost["seconds"] for cost in row["costs"])
    print(f"{name}: {seconds:.1f} s", *differences, sep="\n  NOT AS PUBLISHED: ", file=sys.stderr)
    if run is None:
        tidied(desk)
    return not differences


@contextmanager
def alone(folder: Path) -> Iterator[bool]:
    """Lock the entry of a folder; yield whether that worked. So several calls share the work."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def carry_out_all(asked: argparse.Namespace) -> bool:
    """Carry out the wanted entries that are not in the books, until the time is up; return whether all is well."""
    end, good = time.monotonic() + 60 * asked.until, True
    reused, _, run = (asked.reuse or "").partition("=")
    for part, entry in wanted([PARTS[name] for name in asked.parts or PARTS], asked.only, asked.short):
        if reused not in ("", f"{part.name}:{entry.name}") or time.monotonic() > end:
            continue
        folder = asked.data / part.name / entry.file_name
        with alone(folder) as free:
            books = books_in(asked.data)
            if free and not books.has({"part": part.name, "entry": entry.name}):
                data = Path(run).parent if reused else None
                desk = Desk(folder, data, asked.memory, lambda: time.monotonic() > end)
                good &= entered(part, entry, desk, Path(run) if reused else None, books)
    return good


def books_in(data: Path) -> Books:
    """Those of a folder, as they stand."""
    return Books(data / "atlas.jsonl", "part", "entry")


def main(given: Sequence[str] | None = None) -> int:
    """Do what the command line asks for; return the exit code."""
    asked = arguments(given)
    asked.data.mkdir(parents=True, exist_ok=True)
    good = asked.publish or carry_out_all(asked)
    results = summary(books_in(asked.data).rows(), PARTS, published() if asked.publish else {})
    if asked.publish:
        publish(results, PARTS, books_in(asked.data).rows())
    if asked.json:
        print(json.dumps(results))
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
