"""``python -m campaigns.tables.nakuron SIZE TILTS``: how the number of boards grows with tilts, from a random board.

Prints JSON: the boards that are new after each number of tilts, and how often their number is a(n) = 2 a(n - 1) + 2 a(n
- 2). Then the factor by which this grows, the seconds of CPU for a board, and the tilts that fit into ten minutes.
"""

import json
import sys
import time

import numpy as np

from hakoiri.guests.nakuron.board import random_board, tilt_cells

_SETTING, _SEED, _SECONDS = 3, 1, 600


def main(size: str, tilts: str) -> None:
    """Print all figures."""
    board = random_board(int(size), _SETTING, _SEED)
    cells = np.array(list("".join(board.rows)), dtype=np.uint8)
    frame = np.array([list(side) for side in board.frame], dtype=np.uint8)
    known, layer, sizes, after = {cells.tobytes()}, [cells.tobytes()], [1], np.empty_like(cells)
    tilt_cells(cells, frame[0], 0, after)
    began = time.process_time()
    for _ in range(int(tilts)):
        following = list[bytes]()
        for name in layer:
            here = np.frombuffer(name, dtype=np.uint8)
            for side in range(4):
                if tilt_cells(here, frame[side], side, after) >= 0 and (found := after.tobytes()) not in known:
                    known.add(found)
                    following.append(found)
        layer = following
        sizes.append(len(layer))
    seconds, factor = (time.process_time() - began) / sum(sizes), 1 + 3**0.5
    agreeing = sum(sizes[n] == 2 * (sizes[n - 1] + sizes[n - 2]) for n in range(3, len(sizes)))
    fits, boards = len(sizes) - 1, float(sum(sizes))
    while boards * seconds < _SECONDS:
        boards, fits = boards * factor, fits + 1
    print(json.dumps({"sizes": sizes, "agreeing": agreeing, "of": len(sizes) - 3, "factor": factor,
                      "seconds": seconds, "fits": fits}))  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
