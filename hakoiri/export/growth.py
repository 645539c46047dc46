"""Growth tables: the sizes of the layers of many runs in one CSV, which anybody can cite and add to.

A row for each puzzle with its options and start. `layers` has the sizes of all layers, separated by blanks; `exhausted`
is ``no`` for a run that ended before its last layer. `certificate` is the SHA-256 of the text of the certificate, which
only exhausted runs have, and `definition` that of a definition. `version` is that of the program that made the row.
"""

import csv
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.runs.certificate import Certificate, certificate_text
from hakoiri.storage.engine.files import replaced

COLUMNS = (
    "puzzle", "options", "start", "configurations", "depth", "exhausted", "layers", "digest", "certificate",
    "definition", "version",
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
        sha256(text.encode()).hexdigest() if text else "", version("hakoiri"),
    )  # fmt: skip
    return dict(zip(COLUMNS, map(str, values), strict=True))


def _short(start: str) -> str:
    """Return a start, or the SHA-256 of several in lines."""
    return start if len(start) <= _MOST_SHOWN else f"sha256:{sha256(start.encode()).hexdigest()}"


def _order(row: dict[str, str]) -> tuple[str, int, str, str]:
    return row["puzzle"], int(row["configurations"]), row["options"], row["start"]


def add_growth(table: Path, row: dict[str, str]) -> int:
    """Add a row to a table, in place of one with its puzzle, options, start and definition; return the number of rows.

    A file that is not there is made. `UnanswerableError` if it has other columns.
    """
    rows = [row]
    if table.exists():
        with table.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            if tuple(reader.fieldnames or ()) != COLUMNS:
                raise UnanswerableError(f"{table} is not a growth table; its first line must be {','.join(COLUMNS)}")
            same = {name: row[name] for name in ("puzzle", "options", "start", "definition")}
            try:
                rows += [each for each in reader if {name: each[name] for name in same} != same]
                rows.sort(key=_order)
            except (csv.Error, TypeError, ValueError):
                raise UnanswerableError(f"{table}, line {reader.line_num}, is not a row of a growth table") from None
    with replaced(table) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return len(rows)
