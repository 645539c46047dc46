"""A proved upper bound for the plays of a board, from the holes that each ball can reach, and by looking ahead.

A ball that a tilt takes to a hole drops, and so does every other in its segment, the cells of its line between two
walls. In a segment that a wall of the frame closes it stops somewhere on the way to the end, wherever others stop it.
So walls and frame alone determine the holes through which a ball can ever drop, and a ball that cannot drop through one
of its own colour scores nothing. Balls that exclude each other are found by looking ahead: the board with the greatest
bound is tilted to all sides, again and again, and each result is bounded by its next two tilts. The greatest bound of
the boards left bounds every play; if a board has already scored as much, it is the optimum.
"""

import heapq

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.jit import jit
from hakoiri.puzzles.nakuron.board import SIDES, WALL, Board

#: The cells of a board, in reading order.
Cells = NDArray[np.uint8]
#: The holes of its sides, (4, n).
Frame = NDArray[np.uint8]

_WALL = int(WALL)
#: The most cells of boards held at once, and the most boards tilted.
_MOST_CELLS, _MOST_BOARDS = 1 << 24, 200_000


def upper_bound(board: Board, most_boards: int = _MOST_BOARDS) -> int:
    """Return an upper bound of all plays. Tilts at most `most_boards` boards, fewer large ones, always the same."""
    cells = np.array(list("".join(board.rows)), dtype=np.uint8)
    frame = np.array([list(side) for side in board.frame], dtype=np.uint8)
    leaving = ways_out(cells, frame)
    most = min(most_boards, _MOST_CELLS // cells.size)
    # Ordered by the bound of a board; `points_of` includes its score so far.
    points_of, after, best = {cells.tobytes(): 0}, np.empty_like(cells), 0
    room = np.stack([after, after])
    waiting = [(-_reserve(cells, frame, leaving, room), 0, 0, cells.tobytes())]
    while waiting:
        if -waiting[0][0] <= best or len(points_of) >= most:
            return max(best, -waiting[0][0])
        _, _, points, name = heapq.heappop(waiting)
        if points < points_of[name]:
            continue
        here = np.frombuffer(name, dtype=np.uint8)
        for side in range(len(SIDES)):
            scored = tilt_cells(here, frame[side], side, after)
            there, now = after.tobytes(), points + scored
            if scored >= 0 and points_of.get(there, -1) < now:
                points_of[there], best = now, max(best, now)
                heapq.heappush(waiting, (-now - _reserve(after, frame, leaving, room), len(points_of), now, there))
    return best


@jit
def _line(side: int, line: int, size: int) -> tuple[int, int]:
    """The cell of a line that is next to a side of the frame, and how far it is from each cell to the next inwards."""
    if side == 0:
        return line, size
    if side == 1:
        return size * line + size - 1, -1
    if side == 2:
        return size * (size - 1) + line, -size
    return size * line, 1


@jit
def tilt_cells(cells: Cells, holes: Cells, side: int, after: Cells) -> int:
    """Write the board after a tilt into `after`; return what it scores, -1 where nothing moves."""
    size, scored, moved = len(holes), 0, False
    for line in range(size):
        first, step = _line(side, line, size)
        falls, free = holes[line] != _WALL, first
        for far in range(size):
            here = first + far * step
            ball = cells[here]
            after[here] = 0
            if ball == _WALL:
                after[here] = _WALL
                falls, free = False, here + step
            elif ball and falls:
                scored += ball == holes[line]
                moved = True
            elif ball:
                after[free] = ball
                moved |= free != here
                free += step
    return scored if moved else -1


@jit
def _spread(cells: Cells, frame: Frame, found: Cells) -> bool:
    """Add to the holes of each cell those that a tilt leads to, now or later; return whether any were added."""
    size, more = frame.shape[1], False
    for side in range(4):
        for line in range(size):
            ways = np.uint8(0)
            if frame[side, line] != _WALL:
                ways = np.uint8(1 << frame[side, line])
            opened = ways != 0
            first, step = _line(side, line, size)
            for far in range(size):
                here = first + far * step
                if cells[here] == _WALL:
                    ways, opened = np.uint8(0), False
                    continue
                if not opened:
                    ways |= found[here]
                if found[here] | ways != found[here]:
                    found[here] |= ways
                    more = True
    return more


def ways_out(cells: Cells, frame: Frame) -> Cells:
    """Return for each cell the colours of the holes through which a ball there may ever drop: bit c for colour c."""
    found = np.zeros_like(cells)
    while _spread(cells, frame, found):
        pass
    return found


@jit
def _count(cells: Cells, leaving: Cells) -> int:
    """Return the number of balls that may score, each by itself."""
    count = 0
    for place in range(len(cells)):
        ball = cells[place]
        count += 0 < ball < _WALL and leaving[place] >> ball & 1 == 1
    return count


@jit
def _after_one(cells: Cells, frame: Frame, leaving: Cells, after: Cells) -> int:
    """Return the greatest sum of a tilt's score and the number of balls after it that may score, each by itself."""
    most = 0
    for side in range(len(frame)):
        scored = tilt_cells(cells, frame[side], side, after)
        if scored >= 0:
            most = max(most, scored + _count(after, leaving))
    return most


@jit
def _reserve(cells: Cells, frame: Frame, leaving: Cells, room: Cells) -> int:
    """Return the bound by two tilts: nothing scores more from here on. Nine boards are examined, without allocation."""
    most = 0
    for side in range(len(frame)):
        scored = tilt_cells(cells, frame[side], side, room[0])
        if scored >= 0:
            most = max(most, scored + _after_one(room[0], frame, leaving, room[1]))
    return most
