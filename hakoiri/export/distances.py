"""Distances as a pattern database: a table in which other solvers look up a configuration by its key.

A ``.pdb`` file is a line of JSON and an array of entries of `bits` bits, 4 or 8: entry N is for key N, two entries of a
byte the lower half first. An entry is the distance plus 1, or 0 if the run has no such configuration. The array ends
with the greatest key.
"""

import json
import os
from pathlib import Path

import numpy as np

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.export.tables import Stream

#: The format, and the most entries: so many, and so many per configuration.
_VERSION, _MOST, _MOST_EACH = 1, 1 << 20, 64


def to_pdb(stream: Stream, target: Path) -> int:
    """Write the distances; return their number. `UnanswerableError` for a whole space, and for large or sparse keys."""
    run, deepest = stream.run, len(stream.run.layer_sizes) - 1
    if stream.label != "depth" or deepest > 254:
        raise UnanswerableError(f"a .pdb file holds distances up to 254, which run {run.name} does not have")
    bits = 4 if deepest < 15 else 8
    most = (_MOST + _MOST_EACH * stream.count) & ~1
    header = {
        "pattern database": _VERSION, "puzzle": run.puzzle.name, "parameters": run.puzzle.option_texts(),
        "start": run.spec.starts or run.puzzle.start_text(), "to": "start" if run.kind.from_start else "nearest goal",
        "configurations": stream.count, "bits": bits, "numbering": "entry N, distance + 1 or 0, is for key N",
    }  # fmt: skip
    head = (json.dumps(header) + "\n").encode()
    # A hole of a file reads as zeros.
    with target.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + most * bits // 8)
    table, entries = np.memmap(target, np.uint8, "r+", len(head)), 0
    for keys, depths in stream.rows("writing distances"):
        entries = int(keys[-1]) + 1 if keys.ndim == 1 else most + 1
        if entries > most:
            raise UnanswerableError(f"the keys of {run.puzzle.name} are too sparse for a .pdb file; use .csv or .npz")
        places, values = keys.astype(np.int64), (depths + 1).astype(np.uint8)
        if bits == 8:
            table[places] = values
        else:
            for odd in (0, 1):
                chosen = places % 2 == odd
                table[places[chosen] // 2] |= values[chosen] << 4 * odd
    table.flush()
    os.truncate(target, len(head) + -(-entries * bits // 8))
    return stream.count
