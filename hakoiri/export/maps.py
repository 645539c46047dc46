"""The format of a map: its description as JSON, then its arrays, little-endian, one after the other.

    0   8 bytes   ``HAKOMAP1``
    8   uint32    length of the JSON, spaces at its end included
    12  JSON      `hakoiri.rows.answers.map_row` and ``arrays``: a list of ``name``, ``type``, ``shape``, ``offset``

``type`` is float32, int32, uint32 or uint8; ``offset`` counts bytes from the beginning of the file, and is a multiple
of 8. Point 0 is the origin, and the others follow by their distance from it:

    places          float32 (points, axes)   coordinates of a point, in units of a move
    moves           uint32 (moves, 2)        points connected by a move, in an undirected puzzle each once
    keys            uint8 (points, bytes)    the packed key of each point, its highest byte first
    depth           int32 (points)           moves from the origin; -1 in all three: there is no path
    goal_distance   int32 (points)           moves to the nearest goal, if they are known
    eccentricity    int32 (points)           moves to the farthest configuration, of a whole undirected component
"""

import json
from pathlib import Path

import numpy as np

from hakoiri.maps import Map
from hakoiri.opened import OpenRun
from hakoiri.puzzles.keys.layout import layout_of
from hakoiri.rows.answers import map_row
from hakoiri.storage.engine.files import replaced

MAGIC = b"HAKOMAP1"
#: The ending of the file's name.
ENDING = "hakomap"
#: Header and arrays are padded to a multiple of this.
_ALIGNED = 8


def write_map(run: OpenRun, found: Map, target: Path) -> None:
    """Write a map of `run` to `target`, replacing it in one step."""
    keys = np.frombuffer(layout_of(found.keys).big_endian(found.keys), dtype=np.uint8)
    parts = {
        "places": found.places.astype("<f4"),
        "moves": found.moves.astype("<u4"),
        "keys": keys.reshape(len(found.keys), -1),
        "depth": found.depths.astype("<i4"),
        "goal_distance": None if found.goals is None else found.goals.astype("<i4"),
        "eccentricity": None if found.eccentricities is None else found.eccentricities.astype("<i4"),
    }
    arrays = {name: array for name, array in parts.items() if array is not None}
    with replaced(target) as part, part.open("wb") as file:
        file.write(_header(run, found, arrays))
        for array in arrays.values():
            file.write(array.tobytes() + bytes(_padding(array)))


def _header(run: OpenRun, found: Map, arrays: dict[str, np.ndarray]) -> bytes:
    """Return magic, length and JSON; the offsets in the JSON depend on its length, so it is padded to the longest."""
    row = {"run": run.name} | map_row(run, found)
    most = len(json.dumps(row)) + 100 * (len(arrays) + 1)
    begin = offset = len(MAGIC) + 4 + most + -(len(MAGIC) + 4 + most) % _ALIGNED
    listed = []
    for name, array in arrays.items():
        listed.append({"name": name, "type": array.dtype.name, "shape": array.shape, "offset": offset})
        offset += array.nbytes + _padding(array)
    text = json.dumps(row | {"arrays": listed}).encode().ljust(begin - len(MAGIC) - 4)
    return MAGIC + len(text).to_bytes(4, "little") + text


def _padding(array: np.ndarray) -> int:
    """Return the number of bytes between an array and the next one."""
    return -array.nbytes % _ALIGNED
