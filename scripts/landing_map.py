#!/usr/bin/env python3
"""Write the map beside the board of the landing page, hakoiri/web/static/landing.map.gz: about two minutes.

The file is compressed by gzip. Its columns are little-endian, and have a row for each configuration that the usual
start of Hakoiri-musume reaches, by increasing keys:

    uint32            the key, less that of the row before
    uint16, uint16    its place in the plane, in sixteenths of a move
    uint8             moves to the nearest goal
"""

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from hakoiri import explore

TARGET = Path(__file__).parents[1] / "hakoiri" / "web" / "static" / "landing.map.gz"
#: Parts of a move.
_PARTS = 16


def main() -> None:
    """Explore the puzzle, lay it out, and write the file."""
    with TemporaryDirectory() as data, explore("klotski", data=data) as run:
        run.hardest()
        found = run.map(axes=2)
        order = np.argsort(found.keys)
        keys, places = found.keys[order].astype("<u4"), found.places[order]
        distances = run.goal_distances(keys)
    steps = np.diff(keys, prepend=np.uint32(0)).astype("<u4")
    parts = np.round(_PARTS * (places - places.min(axis=0))).astype("<u2")
    columns = (steps, parts, distances.astype(np.uint8))
    TARGET.write_bytes(gzip.compress(b"".join(column.tobytes() for column in columns), mtime=0))
    print(f"{len(keys):,} configurations, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
