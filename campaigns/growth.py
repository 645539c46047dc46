"""Makes docs/data/growth.csv: the sizes of the layers of whatever has a certificate.

    python -m campaigns.growth            # from certificates alone, a second
    python -m campaigns.growth --run      # first makes those of docs/data/growth again, a minute

Certificates are those of the atlas (`docs/reports/atlas`) and of `SPACES` here. Anybody's runs are added to a table by
``hakoiri export RUN --growth FILE.csv``.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from hakoiri import explore
from hakoiri.coordinator.runs.certificate import Certificate, read_certificate, write_certificate
from hakoiri.coordinator.runs.create import plan_run
from hakoiri.coordinator.session.resources import Resources
from hakoiri.export.growth import add_growth, growth_row

DOCS = Path(__file__).resolve().parents[1] / "docs"
TABLE, FOLDER = DOCS / "data" / "growth.csv", DOCS / "data" / "growth"
CERTIFICATES = (FOLDER, DOCS / "reports" / "atlas")

Moves = dict[str, list[int]]


class Space(NamedTuple):
    """A puzzle by name, or the things in a row with moves: place i takes what is at place ``row[i]``."""

    puzzle: str
    options: dict[str, str]
    things: list[int]
    moves: Moves

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


def _swapped(n: int, one: int, two: int) -> list[int]:
    row = list(range(n))
    row[one], row[two] = two, one
    return row


def _lx(n: int) -> Moves:
    return {"L": [*range(1, n), 0], "X": _swapped(n, 0, 1)}


def _lrx(n: int) -> Moves:
    return _lx(n) | {"R": [n - 1, *range(n - 1)]}


def _top_spin(n: int) -> Moves:
    return {"L": [*range(1, n), 0], "R": [n - 1, *range(n - 1)], "F": [3, 2, 1, 0, *range(4, n)]}


def _coxeter(n: int) -> Moves:
    return {f"s{one}": _swapped(n, one, one + 1) for one in range(n - 1)}


def _transpositions(n: int) -> Moves:
    return {f"t{one}_{two}": _swapped(n, one, two) for two in range(n) for one in range(two)}


FAMILIES: dict[str, tuple[Callable[[int], Moves], range]] = {
    "lx": (_lx, range(4, 11)),
    "lrx": (_lrx, range(4, 11)),
    "top_spin": (_top_spin, range(6, 11)),
    "coxeter": (_coxeter, range(4, 11)),
    "all_transpositions": (_transpositions, range(4, 10)),
}
COSETS: dict[str, tuple[Callable[[int], Moves], tuple[str, ...]]] = {
    "lrx_coset": (_lrx, ("00001111", "0000011111", "0101010101", "000000111111")),
    "top_spin_coset": (_top_spin, ("00001111", "0000011111", "0101010101", "000000111111")),
}


def spaces() -> Iterator[Space]:
    """Yield what is run here."""
    for metric in ("half", "quarter"):
        yield Space("cube2", {"metric": metric}, [], {})
    yield Space("pyraminx", {}, [], {})
    for name, (moves, sizes) in FAMILIES.items():
        for n in sizes:
            yield Space(f"{name}-{n}.tws", {"metric": "given"}, list(range(1, n + 1)), moves(n))
    for name, (moves, rows) in COSETS.items():
        for row in rows:
            things = [int(letter) + 1 for letter in row]
            yield Space(f"{name}-{row}.tws", {"metric": "given"}, things, moves(len(row)))


def certify(space: Space, target: Path) -> None:
    """Explore a space, and write its certificate."""
    with tempfile.TemporaryDirectory() as folder:
        word = space.word(Path(folder))
        with explore(word, options=space.options, data=Path(folder) / "data") as run:
            run.export(target)


def identity_of(certificate: Certificate) -> str:
    """Return the identity of a certificate's exploration, as this version of Hakoiri makes it."""
    return plan_run(Path(), certificate.spec, "explore", {}, Resources()).identity


def main() -> None:
    """Make certificates, if asked, and the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", action="store_true", help="make the certificates of docs/data/growth again")
    if parser.parse_args().run:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for space in spaces():
            name = "-".join([space.puzzle.removesuffix(".tws"), *(space.options.values() if not space.moves else ())])
            certify(space, FOLDER / f"{name}.json")
            print(name, flush=True)
    TABLE.unlink(missing_ok=True)
    files = sorted(file for folder in CERTIFICATES for file in folder.glob("*.json"))
    for file in files:
        certificate = read_certificate(file)
        if not certificate.identity:
            # An earlier version wrote it. A test compares those that are there with what is made here.
            write_certificate(certificate := replace(certificate, identity=identity_of(certificate)), file)
        rows = add_growth(TABLE, growth_row(certificate))
    print(f"{rows} rows from {len(files)} certificates")


if __name__ == "__main__":
    main()
