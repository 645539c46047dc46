"""Boards of Nakuron in bit planes, and their tilts: kernels whose work is the same for every board.

A *field* is an array (3, n, 4) of uint64. Plane p holds bit p of each cell's colour, from 1 to 4, or 0 for an empty
cell, in bit ``column % 64`` of word ``column // 64`` of the row. Walls are not in the field: they are in a `Ground`,
once for all fields of a board. 250 x 250 cells take 24 kB, and a tilt moves 256 cells with an instruction or two.

All four sides are one case: a field is turned so that the balls roll up (`turn_in`), and turned back. There each
ball rolls by the number of empty cells between it and the wall above. This is counted for all columns at once, bit
plane by bit plane; then those whose number has bit i move up by 2^i, for each i in turn. No two balls meet on the way:
the lower of two in a column between two walls has at least as far to go, and as many empty cells in between as it
gains. Warren, "Hacker's Delight", on compressing bits, does the same along a word.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit, popcount
from hakoiri.guests.nakuron.board import WALL, Board

Words = NDArray[np.uint64]
#: Bits of a colour, words of a row, cells of a row at most.
PLANES = 3
WORDS = 4
MOST_SIDE = 64 * WORDS
UP, RIGHT, DOWN, LEFT = range(4)
SIDES = 4
#: Bits of the farthest that a ball can roll.
STEP_BITS = 8
Cells = NDArray[np.uint8]


class Ground(NamedTuple):
    """The walls and holes of a board, all uint64; arrays by side are turned so that the side is up.

    `walls` (4, 256, 4): where walls are. `exits` (4, 256, 4): the cells from which a ball drops. `holes` (4, 3, n, 4),
    not turned: for each side the colour of the hole that each of these cells leads to. `bits` (1,): of the farthest way
    that a ball can roll.
    """

    walls: Words
    exits: Words
    holes: Words
    bits: Words


@jit
def _transpose(planes: Words, blocks: int) -> None:
    """Exchange rows and columns of each plane (256, 4), of which `blocks` words and 64 * `blocks` rows count."""
    for plane in range(len(planes)):
        rows = planes[plane]
        for block in range(blocks):
            first = 64 * block
            step = 32
            mask = np.uint64(0x00000000FFFFFFFF)
            while step:
                shift = np.uint64(step)
                for begin in range(first, first + 64, 2 * step):
                    for row in range(begin, begin + step):
                        for word in range(WORDS):
                            low = rows[row, word]
                            high = rows[row + step, word]
                            swapped = (low >> shift ^ high) & mask
                            rows[row, word] = low ^ swapped << shift
                            rows[row + step, word] = high ^ swapped
                step >>= 1
                mask ^= mask << np.uint64(step)
        for block in range(blocks):
            for other in range(block):
                for row in range(64):
                    kept = rows[64 * block + row, other]
                    rows[64 * block + row, other] = rows[64 * other + row, block]
                    rows[64 * other + row, block] = kept


@jit
def turn_in(planes: Words, side: int, turned: Words) -> None:
    """Write planes (k, n, 4) into `turned` (k, 256, 4) so that `side` is up."""
    size = planes.shape[1]
    for plane in range(len(planes)):
        _copy(planes[plane].reshape(-1), turned[plane].reshape(-1), size * WORDS, 64 * _blocks(size) * WORDS)
    if side in (RIGHT, LEFT):
        _transpose(turned, _blocks(size))
    if side in (RIGHT, DOWN):
        _reverse(turned, size)


@jit
def turn_out(turned: Words, side: int, planes: Words) -> None:
    """The inverse of `turn_in`; `turned` is used up, and must be empty below its last row."""
    size = planes.shape[1]
    if side in (RIGHT, DOWN):
        _reverse(turned, size)
    if side in (RIGHT, LEFT):
        _transpose(turned, _blocks(size))
    for plane in range(len(planes)):
        _copy(turned[plane].reshape(-1), planes[plane].reshape(-1), size * WORDS, size * WORDS)


@jit
def _blocks(size: int) -> int:
    """Words that a row or column of `size` cells takes."""
    return (size + 63) // 64


@jit
def _copy(source: Words, target: Words, words: int, end: int) -> None:
    """Copy `count` words, then zeros up to `end`. A loop: numba copies slices many times slower."""
    for place in range(words):
        target[place] = source[place]
    for place in range(words, end):
        target[place] = 0


@jit
def _reverse(turned: Words, size: int) -> None:
    for plane in range(len(turned)):
        for row in range(size // 2):
            for word in range(WORDS):
                kept = turned[plane, row, word]
                turned[plane, row, word] = turned[plane, size - 1 - row, word]
                turned[plane, size - 1 - row, word] = kept


@jit
def _count_steps(turned: Words, walls: Words, size: int, bits: int, steps: Words) -> None:
    """Write into `steps` (8, 256, 4), for each ball, the bits of the number of empty cells up to the next wall."""
    counter = np.zeros((STEP_BITS, WORDS), dtype=np.uint64)
    carry = np.empty(WORDS, dtype=np.uint64)
    balls = np.empty(WORDS, dtype=np.uint64)
    for row in range(size):
        for word in range(WORDS):
            balls[word] = turned[0, row, word] | turned[1, row, word] | turned[2, row, word]
            carry[word] = ~balls[word]
        for bit in range(bits):
            for word in range(WORDS):
                value = counter[bit, word]
                steps[bit, row, word] = value & balls[word]
                counter[bit, word] = (value ^ carry[word]) & ~walls[row, word]
                carry[word] &= value


@jit
def _move_up(plane: Words, moving: Words, words: int, far: int, out: Words) -> None:
    """Write into `out` a flat plane in which what `moving` has is moved by `far` words. In place it is slower."""
    # IMPORTANT: slices, not plane[place + far]: that index might be negative to numba, and the loop not vectorised.
    below, coming = plane[far:words], moving[far:words]
    for place in range(words - far):
        out[place] = plane[place] & ~moving[place] | below[place] & coming[place]
    last, moved, end = plane[words - far : words], moving[words - far : words], out[words - far : words]
    for place in range(far):
        end[place] = last[place] & ~moved[place]


@jit
def _roll_up(turned: Words, walls: Words, size: int, bits: int, steps: Words, other: Words) -> None:
    """Let all balls roll up; no ball rolls farther than `bits` bits can say."""
    _count_steps(turned, walls, size, bits, steps)
    words = size * WORDS
    for bit in range(bits):
        far = WORDS << bit
        if far >= words:
            break
        moving = steps[bit].reshape(-1)
        for plane in range(PLANES):
            _move_up(turned[plane].reshape(-1), moving, words, far, other)
            _copy(other, turned[plane].reshape(-1), words, words)
        for later in range(bit + 1, bits):
            _move_up(steps[later].reshape(-1), moving, words, far, other)
            _copy(other, steps[later].reshape(-1), words, words)


@jit
def _let_out(plane: Words, exits: Words, words: int) -> None:
    for place in range(words):
        plane[place] &= ~exits[place]


@jit
def make_scratch() -> tuple[Words, Words]:
    """Return the scratch arrays of `tilt`: a turned field, and the steps of each ball in bits."""
    turned = np.zeros((PLANES, MOST_SIDE, WORDS), dtype=np.uint64)
    return turned, np.zeros((STEP_BITS, MOST_SIDE, WORDS), dtype=np.uint64)


@jit
def tilt(field: Words, side: int, ground: Ground, scratch: tuple[Words, Words], out: Words) -> None:
    """Write `field` tilted to `side` into `out`."""
    size, (turned, steps) = field.shape[1], scratch
    turn_in(field, side, turned)
    for plane in range(PLANES):
        _let_out(turned[plane].reshape(-1), ground.exits[side].reshape(-1), size * WORDS)
    _roll_up(turned, ground.walls[side], size, int(np.int64(ground.bits[0])), steps, out.reshape(-1))
    turn_out(turned, side, out)


@jit
def drops(field: Words, holes: Words) -> tuple[np.int64, np.int64]:
    """Return the number of balls that a tilt drops through holes of their own colour, and the number of all it drops.

    `holes` (3, n, 4), unturned, has for every cell from which a ball would drop the colour of its hole.
    """
    right, total = np.uint64(0), np.uint64(0)
    for row in range(field.shape[1]):
        for word in range(WORDS):
            one, two, three = holes[0, row, word], holes[1, row, word], holes[2, row, word]
            a, b, c = field[0, row, word], field[1, row, word], field[2, row, word]
            out = (one | two | three) & (a | b | c)
            total += popcount(out)
            right += popcount(out & ~(a ^ one | b ^ two | c ^ three))
    return np.int64(right), np.int64(total)


def ground_of(board: Board) -> Ground:
    """Return the ground of a board."""
    cells = _cells(board.rows)
    wall = cells == int(WALL)
    walls, exits = (np.zeros((SIDES, MOST_SIDE, WORDS), dtype=np.uint64) for _ in range(2))
    holes = np.zeros((SIDES, PLANES, board.size, WORDS), dtype=np.uint64)
    for side in range(SIDES):
        colours = _exit_colours(wall, board.frame[side], side)
        holes[side] = _planes(colours)
        _turn(wall, side, walls[side])
        _turn(colours > 0, side, exits[side])
    return Ground(walls, exits, holes, np.array([_farthest(wall).bit_length()], dtype=np.uint64))


def field_of(board: Board) -> Words:
    """The balls of a board as a field (3, n, 4)."""
    cells = _cells(board.rows)
    return _planes(np.where(cells == int(WALL), 0, cells).astype(np.uint8))


def _cells(rows: Sequence[str]) -> Cells:
    return np.array([[int(cell) for cell in row] for row in rows], dtype=np.uint8)


def _planes(cells: Cells) -> Words:
    """Cells (n, n) as planes (3, n, 4)."""
    size = len(cells)
    wide = np.zeros((PLANES, size, MOST_SIDE), dtype=np.uint8)
    for plane in range(PLANES):
        wide[plane, :, :size] = cells >> plane & 1
    return np.packbits(wide, axis=2, bitorder="little").view("<u8").astype(np.uint64)


def _turn(mask: NDArray[np.bool_], side: int, turned: Words) -> None:
    turn_in(_planes(mask.astype(np.uint8))[:1], side, turned.reshape(1, MOST_SIDE, WORDS))


def _exit_colours(wall: NDArray[np.bool_], frame: str, side: int) -> Cells:
    """Return for each cell from which a ball drops, when tilted to `side`, the colour of the hole, else 0."""
    holes = np.array([0 if hole == WALL else int(hole) for hole in frame], dtype=np.uint8)
    # Seen from the side, a cell is open when no wall is between it and the frame.
    seen = {0: wall, 1: wall.T[::-1], 2: wall[::-1], 3: wall.T}[side]
    colours = ~np.logical_or.accumulate(seen, axis=0) * holes
    return {0: colours, 1: colours[::-1].T, 2: colours[::-1], 3: colours.T}[side]


def _farthest(wall: NDArray[np.bool_]) -> int:
    """Return the farthest that a ball can roll: one less than the longest stretch of a row or column without a wall."""
    lines = ("".join("01"[cell] for cell in line) for line in [*wall.tolist(), *wall.T.tolist()])
    return max(0, max(len(stretch) for line in lines for stretch in line.split("1")) - 1)
