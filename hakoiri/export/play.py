"""Perfect play as a table in CSV: of each configuration the distance to the nearest goal, a best move, where it leads.

The columns are ``key``, ``configuration``, ``distance``, ``move`` and ``next``, the key after the move: of several the
least. Goals have the distance 0 and no move. Configurations that lead to no goal have -1 and no move.
"""

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.session.session import Control, Observer
from hakoiri.export.stream import Stream
from hakoiri.opened import OpenRun
from hakoiri.puzzles.keys.layout import Keys, ints
from hakoiri.storage.engine.files import replaced
from hakoiri.worker.layers.kernels import simple_edges

ENDING = ".csv"


def export_play(run: OpenRun, target: Path, control: Control | None = None, observer: Observer | None = None) -> int:
    """Write the table of a finished run, in the order of keys; return the number of configurations.

    Goal distances that are not known are computed and kept first (`hardest`).
    """
    if target.suffix != ENDING:
        raise UnanswerableError(f"cannot write perfect play to {target.name!r}: the name must end in {ENDING}")
    run.hardest(1, control, observer)
    stream = Stream(run, control, observer)
    with replaced(target) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["key", "configuration", "distance", "move", "next"])
        for keys, _ in stream.rows():
            distances, nexts = run.goal_distances(keys), _nexts(run, keys)
            named = zip(ints(keys), stream.names(keys), stream.texts(keys), distances.tolist(), strict=True)
            for place, (key, name, text, distance) in enumerate(named):
                after = nexts.get(place)
                last = ["", ""] if after is None else [run.puzzle.describe_move(key, after), stream.name(after)]
                writer.writerow([name, text, distance, *last])
    return stream.count


def _nexts(run: OpenRun, keys: Keys) -> dict[int, int]:
    """Return the least configuration that is a move nearer to the goal, by the place of the key before."""
    targets, counts = simple_edges(keys, *run.puzzle.expand(keys))
    places: NDArray[np.intp] = np.repeat(np.arange(len(keys)), counts)
    distances = run.goal_distances(keys)[places]
    # Targets of a source increase, and of equal places the first is taken.
    nearer = np.flatnonzero((distances > 0) & (run.goal_distances(targets) == distances - 1))
    found, first = np.unique(places[nearer], return_index=True)
    return dict(zip(found.tolist(), ints(targets[nearer[first]]), strict=True))
