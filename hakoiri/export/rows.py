"""Rows of a study as a table: CSV, and Parquet if pyarrow is installed."""

import csv
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.export.tables import pyarrow_here
from hakoiri.storage.engine.files import replaced, require_place

_ENDINGS = (".csv", ".parquet")
#: Columns of texts, and of fractions; all others are whole numbers.
_TEXTS = ("mix", "one", "other", "hardest", "configuration", "name", "start", "board", "idle")
_FRACTIONS = ("branching",)
#: Rows per group of a Parquet file.
_GROUP = 10_000


def check_ending(target: Path) -> None:
    """Raise `UnanswerableError` or `NotWritableError` for a file that cannot be written, before the work for it."""
    if target.suffix not in _ENDINGS:
        raise UnanswerableError(f"cannot write {target.name!r}: the name must end in {' or '.join(_ENDINGS)}")
    if target.suffix == ".parquet":
        pyarrow_here()
    require_place(target)


def write_rows(rows: Iterator[dict[str, Any]], target: Path) -> int:
    """Write rows that all have the same names, at least one; return their number. Raises `NotWritableError`."""
    with replaced(target) as part:
        return (_to_parquet if target.suffix == ".parquet" else _to_csv)(rows, part)


def _to_csv(rows: Iterator[dict[str, Any]], target: Path) -> int:
    first, count = next(rows), 0
    with target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(first))
        writer.writeheader()
        for row in chain([first], rows):
            writer.writerow(row)
            count += 1
    return count


def _to_parquet(rows: Iterator[dict[str, Any]], target: Path) -> int:
    pyarrow, count = pyarrow_here(), 0
    from pyarrow import parquet

    first = next(rows)
    types = dict.fromkeys(_TEXTS, pyarrow.string()) | dict.fromkeys(_FRACTIONS, pyarrow.float64())
    schema = pyarrow.schema([(name, types.get(name, pyarrow.int64())) for name in first])
    rows = chain([first], rows)
    with parquet.ParquetWriter(target, schema, compression="zstd") as writer:
        while group := list(islice(rows, _GROUP)):
            writer.write_table(pyarrow.Table.from_pylist(group, schema=schema))
            count += len(group)
    return count
