"""Growth tables: the sizes of the layers of many runs in one CSV, which anybody can cite and add to.

A row for each `identity` (`storage.ledger.manifest.Manifest.identity`): a puzzle and its version, options, start,
mirrors, and the limits of a run that ended before its last layer, whose `exhausted` is ``no``. `layers` has the sizes
of all layers, separated by blanks; if `merged_mirrors` is ``yes``, of classes of mirror images. `certificate` is the
SHA-256 of the text of the certificate, which only exhausted runs have, and `definition` that of a definition, whose
`generators` are the names of the moves that are used, separated by blanks. `version` is that of the program that made
the row.
"""

import csv
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.runs.certificate import Certificate, certificate_text
from hakoiri.puzzles.definitions.definition import Definition
from hakoiri.storage.engine.files import naming, replaced

COLUMNS = (
    "puzzle", "options", "start", "configurations", "depth", "exhausted", "layers", "digest", "certificate",
    "definition", "generators", "version", "merged_mirrors", "identity",
)  # fmt: skip
#: The letters of a start that stands in the table as it is.
_MOST_SHOWN = 1000


def growth_row(certificate: Certificate, exhausted: bool = True) -> dict[str, str]:
    """Return the row of a certificate, or of what would be one if the run were `exhausted`."""
    sizes, text = [layer.size for layer in certificate.layers], certificate.definition
    values = (
        certificate.puzzle, " ".join(f"{name}={value}" for name, value in sorted(certificate.options.items()) if value),
        _short(certificate.deal), sum(sizes), len(sizes) - 1, "yes" if exhausted else "no", " ".join(map(str, sizes)),
        certificate.digest, sha256(certificate_text(certificate).encode()).hexdigest() if exhausted else "",
        sha256(text.encode()).hexdigest() if text else "", " ".join(_generators(certificate)), version("hakoiri"),
        "yes" if certificate.merge_mirrors else "no", certificate.identity,
    )  # fmt: skip
    return dict(zip(COLUMNS, map(str, values), strict=True))


def _generators(certificate: Certificate) -> list[str]:
    """Return the names of the moves that a definition uses, of other puzzles none."""
    if not certificate.definition:
        return []
    named = certificate.options.get("moves", "").replace(",", " ").split()
    return named or Definition.read(certificate.definition).usual


def _short(start: str) -> str:
    """Return a start, or the SHA-256 of several in lines."""
    return start if len(start) <= _MOST_SHOWN else f"sha256:{sha256(start.encode()).hexdigest()}"


def _order(row: dict[str, str]) -> tuple[str, int, str, str, str]:
    return row["puzzle"], int(row["configurations"]), row["options"], row["start"], row["identity"]


@contextmanager
def _locked(table: Path) -> Iterator[None]:
    """Hold the lock of a table, which is made, empty, if it is not there; wait also for a table that replaces it."""
    while True:
        with table.open("a", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if table.exists() and os.path.samestat(os.fstat(file.fileno()), table.stat()):
                yield
                return


def add_growth(table: Path, row: dict[str, str]) -> int:
    """Add a row to a table, in place of one with its identity; return the number of rows.

    A file that is not there is made. `UnanswerableError` if it has other columns. Several processes may add at once.
    """
    rows = [row]
    with naming(table), _locked(table):
        with table.open(encoding="utf-8", newline="", errors="surrogateescape") as file:
            if file.readline(_MOST_SHOWN).strip() not in ("", ",".join(COLUMNS)):
                raise UnanswerableError(f"{table} is not a growth table; its first line must be {','.join(COLUMNS)}")
            reader = csv.DictReader(file, COLUMNS)
            try:
                rows += [each for each in reader if each["identity"] != row["identity"]]
                rows.sort(key=_order)
            except (csv.Error, TypeError, ValueError):
                raise UnanswerableError(
                    f"{table}, line {1 + reader.line_num}, is not a row of a growth table"
                ) from None
        with replaced(table) as part, part.open("w", encoding="utf-8", newline="", errors="surrogateescape") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return len(rows)
