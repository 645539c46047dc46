"""The hardest starts of sliding blocks of any shape, from one corner to the opposite one, by the number of pieces.

    python -m campaigns.corners 4x4                  # all numbers of pieces that are not there yet
    python -m campaigns.corners 4x5 19 18 17 1 2 3   # these, in this order; stop it at any time
    python -m campaigns.corners                      # the page alone

`campaigns/corners.cpp` searches all sets of pieces of a number. Hakoiri then explores the hardest start that it found,
which must be as many moves from its goal, or the campaign ends. The rows are docs/data/corners.csv; the page
docs/reports/corners.md and its pictures are made of them.
"""

import argparse
import csv
import resource
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from campaigns.tables.atlas import table
from hakoiri import explore
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.render.images import captioned, sheet, svg

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path(__file__).with_suffix(".cpp")
ROWS, PAGE = ROOT / "docs" / "data" / "corners.csv", ROOT / "docs" / "reports" / "corners.md"
COLUMNS = ["size", "pieces", "moves", "start", "sets", "with_start", "ends", "met", "cpu_seconds"]
#: N. Bickford, "Sliding Block Puzzles, Part 3", 2012, for one piece and more.
PUBLISHED = {"4x4": (1, 4, 9, 19, 36, 51, 62, 89, 132, 81, 64, 73, 61, 25, 21)}
#: Boards in a row of a picture.
_BESIDE = 5
_BEGINS = """\
# From corner to corner

Pieces of any shape lie on a board, some of whose cells are empty. One of them, A, starts over the upper left cell and
is to get over the lower right one. A move takes one piece anywhere it gets to by steps over empty cells. How many moves
does the hardest start of so many pieces need?

```sh
python -m campaigns.corners 4x4           # all numbers of pieces, {seconds:,} CPU s
python -m campaigns.corners 4x5 19 18 17  # some
```

`campaigns/corners.cpp` lists all placements with A in the end, set of pieces by set of pieces, and searches back from
them. Hakoiri explores each start of the tables: it is as many moves from its goal. *Sets* are sets of pieces, one of
them A; *met* are all placements from which the end can be reached. Both corners of A's bounding box are cells of A.
The rows of 4x5 with 8 to 11 pieces are of a search that takes half as long as the one that made the others before; the
search with 9 ran beside other work.
"""


def options_of(start: str) -> dict[str, str]:
    """Return the options of a sliding-block puzzle whose piece A is to get into the lower right corner."""
    rows = start.split("/")
    at = [(row, column) for row, line in enumerate(rows) for column, letter in enumerate(line) if letter == "A"]
    height, width = (1 + max(each) - min(each) for each in zip(*at, strict=True))
    goal = f"A@{len(rows) - height + 1},{len(rows[0]) - width + 1}"
    return {"goal": goal, "metric": "finger", "distinct": "A"}


def known() -> dict[tuple[str, int], dict[str, str]]:
    """Return the rows by size and number of pieces."""
    if not ROWS.exists():
        return {}
    with ROWS.open(encoding="utf-8", newline="") as file:
        return {(row["size"], int(row["pieces"])): row for row in csv.DictReader(file)}


def searched(program: Path, size: str, pieces: int) -> dict[str, str]:
    """Return the row of a number of pieces, its start explored by Hakoiri; `SystemExit` if they differ."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = subprocess.check_output([program, *size.split("x"), str(pieces)], text=True).split()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    row = dict(zip(COLUMNS, [size, *answer, f"{spent:.1f}"], strict=True))
    with (
        tempfile.TemporaryDirectory() as data,
        explore("sliding", options_of(row["start"]), start=row["start"], until_goal=True, data=data) as run,
    ):
        if run.depth != int(row["moves"]):
            raise SystemExit(f"{row['start']}: {run.depth} moves by Hakoiri, {row['moves']} by {program.name}")
    expected = PUBLISHED.get(size, ())
    if pieces <= len(expected) and expected[pieces - 1] != int(row["moves"]):
        raise SystemExit(f"{row['start']}: {row['moves']} moves, but {expected[pieces - 1]} are published")
    return row


def add(row: dict[str, str]) -> None:
    """Add a row to the table."""
    rows = known() | {(row["size"], int(row["pieces"])): row}
    with ROWS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[key] for key in sorted(rows))


def picture_of(rows: list[dict[str, str]]) -> str:
    """Return the hardest starts as a picture, each with its number of moves."""
    pictures = []
    for row in rows:
        puzzle = PuzzleSpec("sliding", options_of(row["start"]), start=row["start"]).build()
        pictures.append(captioned(puzzle.picture(puzzle.start), f"{row['moves']} move{'s'[: row['moves'] != '1']}"))
    lines = [pictures[each : each + _BESIDE] for each in range(0, len(pictures), _BESIDE)]
    title = f"The hardest starts on {rows[0]['size']}"
    return svg(sheet(lines, [title]), title)


def page(rows: dict[tuple[str, int], dict[str, str]]) -> Iterator[str]:
    """Yield the parts of the page."""
    spent = sum(float(row["cpu_seconds"]) for (size, _), row in rows.items() if size == "4x4")
    yield _BEGINS.format(seconds=round(spent))
    for size in sorted({size for size, _ in rows}):
        mine = [row for (where, _), row in sorted(rows.items()) if where == size]
        heads = ["pieces", "moves", "hardest start", "sets", "with a start", "met", "CPU s"]
        expected = PUBLISHED.get(size, ())
        lines = [
            [
                row["pieces"],
                row["moves"] + (" ✓" if int(row["pieces"]) <= len(expected) else ""),
                f"`{row['start']}`",
                *(f"{int(row[column]):,}" for column in ("sets", "with_start", "met")),
                f"{float(row['cpu_seconds']):,.1f}",
            ]
            for row in mine
        ]
        yield f"## {size}\n\n{table(heads, lines)}\n![The hardest starts](corners-{size}.svg)\n"
    yield (
        "✓ The number of moves is that of N. Bickford, "
        "[Sliding Block Puzzles, Part 3](https://nbickford.wordpress.com/2012/01/22/sliding-block-puzzles-part-3/).\n"
    )


def main() -> None:
    """Search, if asked, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("size", nargs="?", help="such as 4x5; at most 20 cells")
    parser.add_argument("pieces", nargs="*", type=int, help="numbers of pieces; all if none are given")
    asked = parser.parse_args()
    if asked.size:
        rows, columns = map(int, asked.size.split("x"))
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "corners"
            subprocess.run(["g++", "-O3", "-march=native", "-std=c++17", "-o", program, SOURCE], check=True)
            for pieces in asked.pieces or range(1, rows * columns):
                if (asked.size, pieces) not in known():
                    add(row := searched(program, asked.size, pieces))
                    print(f"{asked.size}, {pieces} pieces: {row['moves']} moves, {row['start']}", flush=True)
    found = known()
    PAGE.write_text("\n".join(page(found)), encoding="utf-8")
    for size in {size for size, _ in found}:
        rows_of_size = [row for (where, _), row in sorted(found.items()) if where == size]
        PAGE.with_name(f"corners-{size}.svg").write_text(picture_of(rows_of_size), encoding="utf-8")


if __name__ == "__main__":
    main()
