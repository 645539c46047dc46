"""Makes docs/data/growth.csv: the sizes of the layers of whatever has a certificate.

    python -m campaigns.growth              # from certificates alone, a second
    python -m campaigns.growth --hours 8    # first makes certificates that are not there, as many as the time allows
    python -m campaigns.growth --again      # first makes all of docs/data/growth again

Certificates are those of the atlas (`docs/reports/atlas`) and of `spaces` here. Spaces with published layers
(`docs/data/published.json`) come first, the small ones before the large ones; a difference ends the campaign. Other
runs are added to a table by ``hakoiri export RUN --growth FILE.csv``. CayleyPy's form of a table, ``key,"[sizes]"``, is
written beside ours: `docs/data/cayleypy`.
"""

import argparse
import csv
import json
import os
import re
import shlex
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import factorial, prod
from pathlib import Path
from typing import Any, NamedTuple

from hakoiri import explore
from hakoiri.coordinator.runs.certificate import Certificate, read_certificate, write_certificate
from hakoiri.coordinator.runs.create import plan_run
from hakoiri.coordinator.session.resources import Resources
from hakoiri.export.growth import add_growth, growth_row

DOCS = Path(__file__).resolve().parents[1] / "docs"
TABLE, FOLDER, PUBLISHED = DOCS / "data/growth.csv", DOCS / "data/growth", DOCS / "data/published.json"
CERTIFICATES = (FOLDER, DOCS / "reports" / "atlas")
PAGE = DOCS / "reports" / "growth.md"
#: Layers of more configurations than these are not kept, which spares memory and disk.
_MANY = 10**8
#: A page with a line for each row.
SPACES = DOCS / "reports" / "spaces.md"
#: Pages to play of sliding blocks find all configurations when they are opened; others contain them.
_PLAYED, _CONTAINED = ("klotski", "sliding"), range(100, 1001)
_PUBLISHERS = {"cayleypy": "CayleyPy", "lightln2": "SlidingTilesSolver"}
_SPACES_BEGIN = """\
# Spaces

A line for each row of [the growth table](growth.md): the number of configurations, the greatest depth, and how many lie
there. A press on a heading sorts. *Published*: who publishes all layer sizes, which are equal. A digest leads to the
certificate; `hakoiri verify FILE` explores its space again. *Play* opens a page with every distance.

<div class="spaces" markdown>

"""
CAYLEYPY = DOCS / "data" / "cayleypy"

Moves = dict[str, list[int]]


class Space(NamedTuple):
    """A puzzle by name, or the things in a row with moves: place i takes what is at place ``row[i]``."""

    puzzle: str
    options: dict[str, str]
    things: list[int]
    moves: Moves

    @property
    def name(self) -> str:
        """The name of its certificate."""
        return "-".join([self.puzzle.removesuffix(".tws"), *(self.options.values() if not self.moves else ())])

    def word(self, folder: Path) -> str:
        """Return the puzzle as it is given to a command, its file in a folder."""
        if not self.moves:
            return self.puzzle
        rows = ["Name Growth", f"Set row {len(self.things)} 1", "Solved", "row", " ".join(map(str, self.things)), "End"]
        zeros = " ".join("0" * len(self.things))
        for name, row in self.moves.items():
            rows += [f"Move {name}", "row", " ".join(str(place + 1) for place in row), zeros, "End"]
        file = folder / self.puzzle
        file.write_text("\n".join([*rows, ""]), encoding="utf-8")
        return str(file)


def _cycles(n: int, *cycles: Sequence[int]) -> list[int]:
    """Return the row of a move after which each place has what was at the next one of its cycle."""
    row = list(range(n))
    for cycle in cycles:
        for place, after in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
            row[place] = after
    return row


def _inverse(row: Sequence[int]) -> list[int]:
    return sorted(range(len(row)), key=row.__getitem__)


def _with_inverses(moves: Moves) -> Moves:
    """Return the moves and, where it is another one, the inverse of each."""
    inverses = {f"{name}_": _inverse(row) for name, row in moves.items()}
    return moves | {name: row for name, row in inverses.items() if row not in moves.values()}


def _lx(n: int) -> Moves:
    return {"L": [*range(1, n), 0], "X": _cycles(n, (0, 1))}


def _lrx(n: int) -> Moves:
    return _lx(n) | {"R": [n - 1, *range(n - 1)]}


def _top_spin(n: int) -> Moves:
    return {"L": [*range(1, n), 0], "R": [n - 1, *range(n - 1)], "F": [3, 2, 1, 0, *range(4, n)]}


def _lsl(n: int) -> Moves:
    return _with_inverses({"L": _cycles(n, range(n)), "S": _cycles(n, range(n - 1))})


def _coxeter(n: int) -> Moves:
    return {f"s{one}": _cycles(n, (one, one + 1)) for one in range(n - 1)}


def _cyclic_coxeter(n: int) -> Moves:
    return _coxeter(n) | {f"s{n - 1}": _cycles(n, (0, n - 1))}


def _transpositions(n: int) -> Moves:
    return {f"t{one}_{two}": _cycles(n, (one, two)) for two in range(n) for one in range(two)}


def _stars(n: int) -> Moves:
    return {f"t0_{two}": _cycles(n, (0, two)) for two in range(1, n)}


def _paired(n: int, first: int, count: int) -> list[int]:
    """Return the exchange of `first` with the next place, and so on, for `count` pairs."""
    return _cycles(n, *((place, place + 1) for place in range(first, first + 2 * count, 2)))


def _rapaport_m1(n: int) -> Moves:
    ways = [(first, count) for first in (0, 1) for count in range(1, (n - first) // 2 + 1)]
    return {f"p{first}_{count}": _paired(n, first, count) for first, count in ways}


def _rapaport_m2(n: int) -> Moves:
    ways = [(0, 1), (0, n // 2), (1, (n - 1) // 2)]
    return {f"p{first}_{count}": _paired(n, first, count) for first, count in ways}


def _reversals(n: int) -> Moves:
    """Return the reversals of all segments."""
    segments = [(one, two) for two in range(n) for one in range(two)]
    return {f"r{i}_{j}": [*range(i), *range(j, i - 1, -1), *range(j + 1, n)] for i, j in segments}


def _signed_reversals(n: int) -> Moves:
    """Return the reversals of all segments of things with two sides: place n + i is the other side of place i."""
    moves = {}
    for two in range(n):
        for one in range(two + 1):
            row = list(range(2 * n))
            for place in range(one, two + 1):
                row[place], row[n + place] = n + one + two - place, one + two - place
            moves[f"r{one}_{two}"] = row
    return moves


def _block_transpositions(n: int, firsts: int | None = None) -> Moves:
    """Return the exchanges of neighbouring blocks, the first of which begins in one of the `firsts` first places."""
    blocks = [(i, j, k) for k in range(2, n + 1) for j in range(1, k) for i in range(j) if firsts is None or i < firsts]
    return {f"b{i}_{j}_{k}": [*range(i), *range(j, k), *range(i, j), *range(k, n)] for i, j, k in blocks}


def _prefix_transpositions(n: int) -> Moves:
    return _block_transpositions(n, 1)


def _prefix_cycles(n: int) -> Moves:
    """Return the shifts of all prefixes by one, in one direction."""
    return {f"c{end}": _cycles(n, range(end)) for end in range(2, n + 1)}


def _consecutive_cycles(n: int, k: int) -> Moves:
    """Return the shifts of all segments of k places, both ways."""
    return _with_inverses({f"c{one}": _cycles(n, range(one, one + k)) for one in range(n - k + 1)})


def _wrapped_cycles(n: int, k: int) -> Moves:
    """Return the shifts of k places in a row of a ring, both ways."""
    return _with_inverses({f"c{one}": _cycles(n, [(one + step) % n for step in range(k)]) for one in range(n)})


def _rings(left: int, left_index: int, right: int, right_index: int) -> Moves:
    """Return the turns of two rings that cross at place 0 and, if the indices are not 0, at a second place.

    The left ring has the places 0 to left - 1 in order, and its second crossing is place `left_index`; on the right
    ring it is `right_index` places before place 0.
    """
    full = left + right - (2 if left_index else 1)
    if left_index:
        middle = full - (right_index - 1)
        ring = [0, *range(left, middle), left_index, *range(middle, full)]
    else:
        ring = [0, *range(left, full)]
    return _with_inverses({"L": _cycles(full, range(left)), "R": _cycles(full, ring)})


def _globe(a: int, b: int) -> Moves:
    """Return the turns of the a + 1 rows of a globe of 2b columns, and the flips of its halves."""
    wide = 2 * b
    n = wide * (a + 1)
    moves = {f"r{row}": _cycles(n, range(row * wide, (row + 1) * wide)) for row in range(a + 1)}
    for first in range(wide):
        pairs = []
        for row in range((a + 1) // 2):
            columns = [(first + step) % wide for step in range(b)]
            pairs += [
                (row * wide + one, (a - row) * wide + two) for one, two in zip(columns, columns[::-1], strict=True)
            ]
        moves[f"f{first}"] = _cycles(n, *pairs)
    return _with_inverses(moves)


def _twiddle(rows: int, columns: int) -> Moves:
    """Return the quarter turns of all squares of 2 by 2 places."""
    moves = {}
    for row in range(rows - 1):
        for column in range(columns - 1):
            corner = row * columns + column
            square = (corner, corner + 1, corner + columns + 1, corner + columns)
            moves[f"q{row}_{column}"] = _cycles(rows * columns, square)
    return _with_inverses(moves)


def _loopover(rows: int, columns: int) -> Moves:
    """Return the shifts of all rows and columns of a torus."""
    n = rows * columns
    moves = {f"r{row}": _cycles(n, range(row * columns, (row + 1) * columns)) for row in range(rows)}
    return _with_inverses(moves | {f"c{column}": _cycles(n, range(column, n, columns)) for column in range(columns)})


class Family(NamedTuple):
    """Moves of a row of things by one or more numbers, and what they are in words."""

    moves: Callable[..., Moves]
    sizes: Iterable[int | tuple[int, ...]]
    words: str


_RINGS = (
    (3, 0, 5, 0), (4, 0, 4, 0), (4, 1, 4, 2), (5, 1, 5, 2), (5, 2, 5, 2), (5, 0, 5, 0), (4, 2, 7, 2), (5, 1, 6, 3),
    (5, 2, 7, 3), (4, 2, 8, 4), (4, 2, 8, 1), (6, 2, 6, 3), (6, 1, 6, 1), (5, 2, 8, 1), (6, 0, 6, 0),
)  # fmt: skip
FAMILIES = {
    "lx": Family(_lx, range(4, 13), "shift to the left, exchange of the first two"),
    "lrx": Family(_lrx, range(4, 13), "shifts both ways, exchange of the first two"),
    "top_spin": Family(_top_spin, range(6, 13), "shifts both ways, reversal of the first four"),
    "lsl": Family(_lsl, range(4, 13), "shifts of all and of all but the last, both ways"),
    "coxeter": Family(_coxeter, range(4, 12), "exchanges of neighbours"),
    "cyclic_coxeter": Family(_cyclic_coxeter, range(4, 13), "exchanges of neighbours on a ring"),
    "all_transpositions": Family(_transpositions, range(4, 11), "all exchanges of two"),
    "stars": Family(_stars, range(4, 13), "exchanges with the first"),
    "rapaport_m1": Family(
        _rapaport_m1, range(4, 13), "exchanges of the first pairs, from the first and from the second place"
    ),
    "rapaport_m2": Family(
        _rapaport_m2, range(5, 12), "exchange of the first two, of all pairs, of all pairs from the second"
    ),
    "full_reversals": Family(_reversals, range(2, 13), "reversals of all segments"),
    "signed_reversals": Family(_signed_reversals, range(1, 9), "reversals of all segments of things with two sides"),
    "block_transpositions": Family(_block_transpositions, range(2, 13), "exchanges of neighbouring blocks"),
    "prefix_transpositions": Family(_prefix_transpositions, range(2, 13), "exchanges of a prefix with the next block"),
    "prefix_cycles": Family(_prefix_cycles, range(4, 11), "shifts of prefixes, one way"),
    "consecutive_cycles": Family(
        _consecutive_cycles, [(n, k) for k in (3, 4) for n in range(k + 2, 12)], "shifts of k neighbours, both ways"
    ),
    "wrapped_cycles": Family(
        _wrapped_cycles,
        [(n, k) for k in (3, 4) for n in range(k + 2, 12)],
        "shifts of k neighbours on a ring, both ways",
    ),
    "hungarian_rings": Family(_rings, _RINGS, "turns of two rings that cross once or twice"),
    "globe": Family(
        _globe, [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (4, 1), (5, 1)], "turns of rows and flips of halves"
    ),
    "twiddle": Family(_twiddle, [(2, 2), (2, 3), (2, 4), (3, 3), (2, 5)], "quarter turns of all squares of 2 by 2"),
    "loopover": Family(_loopover, [(2, 3), (2, 4), (3, 3), (2, 5)], "shifts of rows and columns of a torus"),
}
_TWO = (
    *("0" * half + "1" * half for half in (4, 5, 6, 8, 10, 12, 13)),
    *("01" * half for half in (5, 8, 10, 12)),
)
_THREE = ("000111222", "000011112222", "000001111122222", "000000111111222222")
COSETS = {"lx_coset": _lx, "lrx_coset": _lrx, "top_spin_coset": _top_spin}


def spaces() -> Iterator[Space]:
    """Yield what is run here."""
    for metric in ("half", "quarter"):
        yield Space("cube2", {"metric": metric}, [], {})
    yield Space("pyraminx", {}, [], {})
    for name, family in FAMILIES.items():
        for size in family.sizes:
            numbers = size if isinstance(size, tuple) else (size,)
            moves = family.moves(*numbers)
            row = [*range(1, len(next(iter(moves.values()))) + 1)]
            yield Space(f"{name}-{'-'.join(map(str, numbers))}.tws", {"metric": "given"}, row, moves)
    for name, make in COSETS.items():
        for word in (*_TWO, *_THREE):
            kinds = [int(letter) + 1 for letter in word]
            yield Space(f"{name}-{word}.tws", {"metric": "given"}, kinds, make(len(word)))


def bound(space: Space) -> int:
    """Return the number of orders of the things: the moves make no more of them."""
    return factorial(len(space.things)) // prod(factorial(count) for count in Counter(space.things).values())


def published() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the published rows by puzzle and options."""
    rows = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    return {(row["puzzle"], row["options"]): row for row in rows}


def certify(space: Space, target: Path) -> None:
    """Explore a space, and write its certificate; of many configurations only the layers' sums are kept."""
    with tempfile.TemporaryDirectory() as folder:
        word = space.word(Path(folder))
        keep = "frontier" if bound(space) > _MANY else "layers"
        with explore(word, options=space.options, keep=keep, data=Path(folder) / "data") as run:
            run.export(target)


def certify_all(seconds: float, again: bool) -> None:
    """Write the certificates that are not there, or all, until the time is up; `SystemExit` for one that differs."""
    known = published()
    cases = [(row_of(space) not in known, bound(space), space) for space in spaces()]
    ends = time.monotonic() + seconds
    for _, _, space in sorted(cases, key=lambda case: case[:2]):
        target = FOLDER / f"{space.name}.json"
        if target.exists() and not again:
            continue
        if time.monotonic() > ends:
            break
        began, draft = time.process_time(), target.with_suffix(".draft.json")
        certify(space, draft)
        layers, row = [layer.size for layer in read_certificate(draft).layers], known.get(row_of(space))
        if row and row["layers"] != layers:
            raise SystemExit(f"{space.name}: {draft} differs from {row['source']}")
        draft.replace(target)
        checked = row["source"] if row else "not published"
        print(f"{space.name}: {sum(layers):,} in {time.process_time() - began:,.1f} CPU s; {checked}", flush=True)


def row_of(space: Space) -> tuple[str, str]:
    """Return the puzzle and options of a space's row in the table."""
    return space.puzzle, " ".join(f"{name}={value}" for name, value in sorted(space.options.items()))


def identity_of(certificate: Certificate) -> str:
    """Return the identity of a certificate's exploration, as this version of Hakoiri makes it."""
    return plan_run(Path(), certificate.spec, "explore", {}, Resources()).identity


_KEY = re.compile(r"(?P<family>[a-z_0-9]+?)-(?P<key>[\d-]+)\.tws")


def by_family(rows: Iterable[dict[str, str]]) -> dict[str, list[tuple[str, dict[str, str]]]]:
    """Return the rows of each family of moves, with the key of each: numbers with commas, or the word of a coset."""
    found = defaultdict(list)
    for row in rows:
        if match := _KEY.fullmatch(row["puzzle"]):
            found[match["family"]].append((match["key"].replace("-", ","), row))
    return {family: sorted(found[family], key=lambda each: int(each[1]["configurations"])) for family in sorted(found)}


def page_table(rows: Iterable[dict[str, str]]) -> Iterator[str]:
    """Yield the lines of the table of families, as Markdown."""
    known = published()
    yield "| family | moves | spaces | largest | generators | configurations | depth | published and equal |"
    yield "|---|---|--:|---|---|--:|--:|---|"
    for name, members in by_family(rows).items():
        key, largest = members[-1]
        words = (
            FAMILIES[name].words
            if name in FAMILIES
            else f"moves of {name.removesuffix('_coset')} on things of few kinds"
        )
        sources = [known[case]["source"] for _, row in members if (case := (row["puzzle"], row["options"])) in known]
        whose = " and ".join(sorted({source.split(",")[0].split("/")[-1] for source in sources}))
        said = f"{len(sources)}: {whose}" if sources else "none was found"
        first, *others = largest["generators"].split()
        names = " ".join([first, *(others if len(others) < 4 else ["...", others[-1], f"({1 + len(others)})"])])
        figures = f"{len(members)} | {key} | `{names}` | {int(largest['configurations']):,} | {largest['depth']}"
        yield f"| `{name}` | {words} | {figures} | {said} |"


def spaces_page(rows: Iterable[dict[str, str]], files: Mapping[str, Path]) -> Iterator[str]:
    """Yield the lines of the page of spaces, as Markdown; `files` are the certificates by identity."""
    known = published()
    yield _SPACES_BEGIN + "| space | | configurations | depth | so far away | published | certificate | command |"
    yield "|---|---|--:|--:|--:|---|---|---|"
    for row in sorted(rows, key=lambda row: (re.split(r"[-.]\d|\.", row["puzzle"])[0], int(row["configurations"]))):
        file, case, count = files[row["identity"]], (row["puzzle"], row["options"]), int(row["configurations"])
        name, start = row["puzzle"].removesuffix(".tws"), row["start"]
        is_built_in = name == row["puzzle"]
        source = re.split("[/,]", known[case]["source"])[0] if case in known else ""
        options = "".join(f" -o {shlex.quote(option)}" for option in row["options"].split())
        mirrors = " --merge-mirrors" if row["merged_mirrors"] == "yes" else ""
        keep = " --keep frontier" if count > _MANY else ""
        command = f"hakoiri run {name}{options} --from {shlex.quote(start)}{mirrors}{keep}"
        if not is_built_in or "\n" in start or start.startswith("sha256:"):
            command = f"hakoiri verify {file.relative_to(DOCS.parent)}"
        is_played = is_built_in and not mirrors and (name in _PLAYED or count in _CONTAINED)
        play = f"[play](../play/{file.stem}.html)" if is_played else ""
        certificate = f"[`{row['digest'][:8]}`]({Path(os.path.relpath(file, SPACES.parent)).as_posix()})"
        figures = f"{count:,} | {row['depth']} | {int(row['layers'].split()[-1]):,}"
        yield f"| {file.stem} | {play} | {figures} | {_PUBLISHERS.get(source, source)} | {certificate} | `{command}` |"
    yield "\n</div>"


def write_beside(rows: Sequence[dict[str, str]], files: Mapping[str, Path]) -> None:
    """Write CayleyPy's form of the table, a file for each family, the table of families, and the page of spaces."""
    CAYLEYPY.mkdir(exist_ok=True)
    for family, members in by_family(rows).items():
        with (CAYLEYPY / f"{family}_growth.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(
                [key, json.dumps([int(size) for size in row["layers"].split()])] for key, row in members
            )
    begin, end = "<!-- families -->\n", "<!-- end -->"
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split(begin)[0], text.split(end)[1]
    PAGE.write_text(before + begin + "\n".join(page_table(rows)) + "\n" + end + after, encoding="utf-8")
    SPACES.write_text("\n".join(spaces_page(rows, files)) + "\n", encoding="utf-8")


def main() -> None:
    """Make certificates, if asked, and the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=0, help="make certificates that are not there for so long")
    parser.add_argument("--again", action="store_true", help="make the certificates of docs/data/growth again")
    asked = parser.parse_args()
    if asked.hours or asked.again:
        FOLDER.mkdir(parents=True, exist_ok=True)
        certify_all(float("inf") if asked.again else 3600 * asked.hours, asked.again)
    TABLE.unlink(missing_ok=True)
    files, found = sorted(file for folder in CERTIFICATES for file in folder.glob("*.json")), dict[str, Path]()
    for file in files:
        certificate = read_certificate(file)
        if not certificate.identity:
            # An earlier version wrote it. A test compares those that are there with what is made here.
            write_certificate(certificate := replace(certificate, identity=identity_of(certificate)), file)
        found[certificate.identity] = file
        count = add_growth(TABLE, growth_row(certificate))
    with TABLE.open(encoding="utf-8", newline="") as table:
        write_beside([*csv.DictReader(table)], found)
    print(f"{count} rows from {len(files)} certificates")


if __name__ == "__main__":
    main()
