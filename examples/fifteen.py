"""The 15-puzzle by IDA* with two pattern databases: each counts the moves of other tiles, so their distances add up.

hakoiri run examples/fifteen.py:FourTiles -o first=1; hakoiri export last --to low.pdb
hakoiri run examples/fifteen.py:FourTiles -o first=5; hakoiri export last --to high.pdb
python examples/fifteen.py low.pdb high.pdb 6,5,3,8,9,1,11,10,4,14,7,15,2,12,13,0
"""

import json
import sys
from pathlib import Path

from hakoiri import U32, Number, Puzzle

AROUND = [[n for n in (c - 4, c + 4, c - (c % 4 > 0), c + (c % 4 < 3)) if 0 <= n < 16 and n != c] for c in range(16)]


def region(blank, tiles):  # The cells that the blank reaches without a move of these tiles.
    found = [blank]
    for here in found:
        found += [there for there in AROUND[here] if there not in tiles and there not in found]
    return found


def key_of(blank, tiles):
    return sum(cell << 4 * n for n, cell in enumerate([min(region(blank, tiles)), *tiles]))


class FourTiles(Puzzle):
    """A key has four bits for the least cell that the blank reaches, and for the cell of each tile, lowest first."""

    name, summary, layout = "four-tiles", "four tiles of the 15-puzzle; the blank moves freely among the others", U32
    options, most_successors, undirected = {"first": Number(1, 1, 12)}, 16, True

    def usual_start(self):
        return key_of(0, [self.parameters["first"] + n for n in range(4)])

    def successors(self, key):
        blank, *tiles = (key >> 4 * n & 15 for n in range(5))
        moves = [(n, to) for to in region(blank, tiles) for n in range(4) if tiles[n] in AROUND[to]]
        return [key_of(tiles[n], [*tiles[:n], to, *tiles[n + 1 :]]) for n, to in moves]


def search(board, way, bound, tables):
    """Return the cells of the blank on a way of `bound` moves or less to 0, 1, ..., 15; an empty list without one."""
    cells = sorted(range(16), key=board.__getitem__)
    least = sum(table[key_of(cells[0], cells[first : first + 4])] - 1 for first, table in tables)
    least += sum(abs(cells[t] % 4 - t % 4) + abs(cells[t] // 4 - t // 4) for t in range(9, 16))
    if len(way) - 1 + least > bound or not least:
        return [] if least else way
    for to in (to for to in AROUND[way[-1]] if to not in way[-2:-1]):
        after = [0 if tile == board[to] else tile or board[to] for tile in board]
        if found := search(after, [*way, to], bound, tables):
            return found
    return []


if __name__ == "__main__":  # The tables have 8 bits an entry.
    files, board = [Path(path).read_bytes().partition(b"\n") for path in sys.argv[1:3]], json.loads(f"[{sys.argv[3]}]")
    tables = [(int(json.loads(head)["parameters"]["first"]), entries) for head, _, entries in files]
    print(len(next(filter(None, (search(board, [board.index(0)], n, tables) for n in range(81))))) - 1, "moves")
