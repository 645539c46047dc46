"""The five papers and the atlas: commands of Hakoiri beside what papers and other sources have.

    python -m campaigns.tables                        # every part of both pages
    python -m campaigns.tables gap pancakes --until 30 --memory 4GB
    python -m campaigns.tables musume --only layers   # entries of this name or pattern
    python -m campaigns.tables --publish              # writes results.json and both pages

Run it again to continue where it was stopped, also in the midst of an entry. An entry whose commands and expressions
have not changed is not done again. Exits with code 1 if a command failed, if a value is not the published one, or if a
claim differs without a reason.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import zip_longest
from pathlib import Path
from typing import Any

from campaigns.books import Books
from campaigns.tables import results
from campaigns.tables.desk import Desk, FailedError, StoppedError
from campaigns.tables.entries import Entry, Part, read_parts
from campaigns.tables.work import carried_out, unexpected


def arguments(parts: Sequence[str], given: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    options = argparse.ArgumentParser("tables", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("parts", nargs="*", metavar="PART", help=f"one of {', '.join(parts)}; default all")
    options.add_argument("--only", default="*", metavar="NAME", help="entries of this name or pattern: '1? discs*'")
    options.add_argument("--data", type=Path, default=Path("tables"), metavar="DIR", help="directory of books and runs")
    options.add_argument("--short", action="store_true", help="the short entries alone, as in CI")
    options.add_argument("--until", type=float, default=float("inf"), metavar="MINUTES", help="stop after that time")
    options.add_argument("--memory", metavar="SIZE", help="memory that each command may take")
    options.add_argument("--publish", action="store_true", help="run nothing, write the pages of what is done")
    options.add_argument("--json", action="store_true", help="print the results")
    asked = options.parse_args(given)
    if strange := {*asked.parts} - {*parts}:
        options.error(f"there is no part {', '.join(sorted(strange))}")
    return asked


def wanted(parts: Sequence[Part], only: str, short: bool) -> list[tuple[Part, Entry]]:
    """The entries of a call: the first of each part, then the second of each, and so on; without commands last."""
    rounds = zip_longest(*([(part, entry) for entry in part.entries] for part in parts))
    chosen = [each for these in rounds for each in these if each and fnmatchcase(each[1].name, only)]
    return sorted(
        (each for each in chosen if each[1].row and (each[1].short or not short)), key=lambda each: not each[1].lines
    )


def main(given: Sequence[str] | None = None) -> int:
    """Do what the command line asks for; return the exit code."""
    parts = read_parts()
    asked = arguments([*parts], given)
    asked.data.mkdir(parents=True, exist_ok=True)
    end, good = time.monotonic() + 60 * asked.until, True
    books, published = Books(asked.data / "tables.jsonl", "part", "entry", "asked"), results.published()
    chosen = [parts[name] for name in asked.parts or parts]
    for part, entry in [] if asked.publish else wanted(chosen, asked.only, asked.short):
        # Entries without commands are computed from others, which may have changed.
        known = entry.lines and books.has({"part": part.name, "entry": entry.name, "asked": entry.asked})
        if time.monotonic() > end or known:
            continue
        name = f"{part.name}: {entry.name}"
        folder = asked.data / part.name / f"{entry.file_name}-{results.digest('; '.join(entry.commands()))}"
        found = results.merged(published, books.rows())[part.name]
        try:
            line = carried_out(
                entry,
                Desk(folder, memory=asked.memory, late=lambda: time.monotonic() > end),
                {each: kept["row"] for each, kept in found.items()},
            )
        except StoppedError:
            print(f"{name}: stopped; run the same command again to continue", file=sys.stderr)
            continue
        except FailedError as error:
            print(f"{name} FAILED: {error}", file=sys.stderr)
            good = False
            continue
        books.add({"part": part.name, **line})
        differences = unexpected(part, line)
        seconds = sum(cost["cpu_seconds"] for cost in line["costs"])
        print(f"{name}: {seconds:.1f} CPU s", *differences, sep="\n  NOT AS EXPECTED: ", file=sys.stderr)
        good &= not differences
    if asked.publish:
        results.publish(parts, books.rows())
    if asked.json:
        told: dict[str, Any] = results.merged({}, books.rows())
        print(json.dumps(told))
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
