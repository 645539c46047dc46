"""Print the table of docs/reports/scaling.md for spaces that no machine here holds: bytes and hours by what is kept.

    python -m benchmarks.past --page

Everything follows from costs measured on smaller spaces of the same puzzle, which are written down below.
"""

import argparse
from typing import Any, NamedTuple

from benchmarks.pages import Table, record

#: Bytes of a configuration in a layer, as measured; layers on disk at the same time with `frontier` and `depths`.
_LAYER_BYTES, _WIDEST_AT_ONCE = 1.02, 4
#: Bits of a number in a table in memory besides those of each thread; threads, cores and seconds of an hour.
_TABLE_BITS, _CORES, _HOUR = 9, 8, 3600


class Space(NamedTuple):
    """A space, the part of it in its widest layer, and the ns of one core for a configuration.

    `steps` is for layers on disk, `table` for a table in memory, and `hosts` how many cores 64 hosts of 8 are worth.
    """

    name: str
    size: float
    widest: float
    steps: float
    table: float
    hosts: float


SPACES = [
    Space("pancakes 14", 87_178_291_200, 0.35, 84, 68, 260),
    Space("pancakes 15", 1_307_674_368_000, 0.35, 84, 68, 260),
    Space("tiles 4x4", 10_461_394_944_000, 0.05, 36, 12, 249),
    Space("Hanoi, 22 discs", 4.0**22, 0.03, 25, 11, 215),
]


def amount(size: float) -> str:
    """Return a number of bytes in words."""
    return f"{size / 1e12:,.1f} TB" if size >= 1e12 else f"{size / 1e9:,.0f} GB"


def main() -> None:
    """Print the table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", action="store_true", help="write docs/reports/scaling.md")
    columns = {"space": "", "configurations": ",.0f", "keep": "", "disk": "", "memory": "", "cores": ","}
    table = Table(columns | {"hours": ",.2g"})
    for space in SPACES:
        layers, widest = space.size * _LAYER_BYTES, space.size * space.widest * _LAYER_BYTES
        rows: list[tuple[Any, ...]] = [
            ("layers", layers, "", _CORES, space.steps / _CORES),
            ("frontier", _WIDEST_AT_ONCE * widest, "", _CORES, space.steps / _CORES),
            ("depths", space.size / 4 + _WIDEST_AT_ONCE * widest, "", _CORES, space.steps / _CORES),
            ("depths, all in memory", space.size / 4 + widest, amount(space.size * (_TABLE_BITS + _CORES) / 8), _CORES,
             space.table / _CORES),
            ("layers, 64 hosts", layers, "", 64 * _CORES, space.steps / space.hosts),
        ]  # fmt: skip
        for keep, disk, memory, cores, ns in rows:
            hours = space.size * ns * 1e-9 / _HOUR
            name, size = (space.name, space.size) if keep == "layers" else ("", None)
            table.rows.append([name, size, keep, amount(disk), memory, cores, hours])
    print(table)
    if parser.parse_args().page:
        record("past", [table], "Computed.")


if __name__ == "__main__":
    main()
