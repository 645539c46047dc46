"""Distances as a pattern database: a table in which other solvers look up a configuration by its key.

A ``.pdb`` file is a line of JSON and an array of entries of `bits` bits, 4 or 8: entry N is for key N, two entries of a
byte the lower half first. An entry is the distance plus 1, or 0 if the run has no such configuration. The array ends
with the greatest key. If mirror images are merged, each image of a class has the entry of the class, which is the
distance to the nearest image of the start. ``identity`` is that of the run (`storage.ledger.manifest`), ``depth`` the
greatest distance that the file may have; greater ones are 0, too, unless it is ``whole``.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.errors import Hint
from hakoiri.export.tables import Stream
from hakoiri.keys.layout import Keys
from hakoiri.puzzles.capabilities import Quotient
from hakoiri.storage.results import Labels

#: The format, and the most entries: so many, and so many per configuration.
_VERSION, _MOST, _MOST_EACH = 1, 1 << 20, 64


def to_pdb(stream: Stream, target: Path) -> int:
    """Write the distances; return their number. `UnanswerableError` for a whole space, and for large or sparse keys."""
    run, deepest, count = stream.run, stream.depth, stream.count
    if stream.label != "depth" or deepest > 254:
        raise UnanswerableError(f"a .pdb file holds distances up to 254, which run {run.name} does not have")
    if isinstance(run.puzzle, Quotient):
        sizes = [record.represented for record in run.store.layer_records()[: deepest + 1]]
        if not run.puzzle.base.mirrors() or not all(sizes):
            text = f"the mirror images of {run.puzzle.name} cannot be listed, and a .pdb file has an entry for each"
            raise UnanswerableError(text, Hint("leave out", "merge_mirrors"))
        count = sum(sizes)
    bits = 4 if deepest < 15 else 8
    most = (_MOST + _MOST_EACH * count) & ~1
    header = {
        "pattern database": _VERSION, "puzzle": run.puzzle.name, "parameters": run.puzzle.option_texts(),
        "start": run.spec.starts or run.puzzle.start_text(), "to": "start" if run.kind.from_start else "nearest goal",
        "configurations": count, "bits": bits, "numbering": "entry N, distance + 1 or 0, is for key N",
        "identity": run.store.manifest.identity, "depth": deepest, "whole": run.exhausted and stream.whole,
    }  # fmt: skip
    head = (json.dumps(header) + "\n").encode()
    # A hole of a file reads as zeros.
    with target.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + most * bits // 8)
    table, entries = np.memmap(target, np.uint8, "r+", len(head)), 0
    for keys, depths in _images(stream):
        entries = max(entries, int(keys[-1]) + 1 if keys.ndim == 1 else most + 1)
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
    return count


def _images(stream: Stream) -> Iterator[tuple[Keys, Labels]]:
    """Yield the rows of a stream, each batch increasing; with those of all mirror images if these are merged."""
    mirrors = stream.puzzle.base.mirrors() if isinstance(stream.puzzle, Quotient) else ()
    for found, depths in stream.rows("writing distances"):
        keys, labels, known = found, depths, 0
        # The maps generate all images. A class has one distance, so whichever of equal keys is kept is right.
        while mirrors and keys.ndim == 1 and known < len(keys):
            known = len(keys)
            keys, first = np.unique(np.concatenate([keys, *(each(keys) for each in mirrors)]), return_index=True)
            labels = np.tile(labels, 1 + len(mirrors))[first]
        yield keys, labels
