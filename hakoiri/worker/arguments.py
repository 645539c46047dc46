"""The arrays that tasks share, take and give, checked before a kernel gets them: they come from Redis.

A form such as ``i4[S]<V`` has the type of an array, its lengths, and the bounds of its numbers. Letters stand for
lengths and numbers that arrays of a task have in common: the first one sets them. D is the side of a board. A type is
numpy's, or one of these:

    int        integers of any size
    keys       configurations of the puzzle
    batch      any keys of its layout; ``sorted``, increasing ones; ``pairs``, pairs of them (`worker.census.forests`)
    cuts       increasing keys, between which there are so many ranges
    offsets    those of a graph of V vertices and E edges
    any        checked by the task itself

    <N    from 0 to N - 1; ``!N``, also distinct, and at most `LANES` of them; ``~N``, or -1; ``@N``, or N
    =N    lengths of parts whose sum is N; ``^N``, where these parts end
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal

import numpy as np

from hakoiri.keys.order import is_increasing
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.nakuron.board import MOST_SIZE
from hakoiri.worker.census.forests import PAIR_LAYOUTS
from hakoiri.worker.graphs.lanes import LANES
from hakoiri.worker.transport.payload import Array

#: What the letters stand for.
Sizes = dict[str, int]
#: The parts of a row of the table.
Part = Literal["shared", "chunk", "result"]

_PARTS: tuple[Part, ...] = ("shared", "chunk", "result")
_FORM = re.compile(r"(\w+)(?:\[([\w,]+)\])?(?:([<!~@=^])(\w+))?")
_BATCHES = ("keys", "batch", "sorted", "cuts", "pairs")
_GRAPH, _GROUND = "offsets i4[E]<V", "u8[4,256,4] u8[4,256,4] u8[4,3,D,4] u8[1]<9"
#: Task, and mover of a scored puzzle (`puzzles.capabilities.Scored`) -> what chunks share; each has; each gives.
FORMS: Mapping[str, str] = {
    "before": "cuts[R] u8[W]; keys[K]; keys[F] i8[R]^F",
    "derive": "; keys[K]; batch[F] i8[K]=F i8[U]<K",
    "design": "; u1[B]; u1[A]",
    "diameters": f"; {_GRAPH} i8[C]@V; i4[G,3]",
    "eccentricities": "; keys[K] i8[C]<K; i4[C,4] i4[P,2]<K",
    "expand": "cuts[R] u8[3]; keys[K]; u8[3] i8[R]=B batch[B] i8[B]=A i8[B]=L u1[L]",
    "forest": "; keys[K]; pairs[P] u8[2]",
    "goals": "cuts[R]; keys[K]; keys[F] i8[R]^F",
    "hunt": "; u1[B]; u1[A]",
    "leading": "cuts[R] sorted[T]; keys[K]; keys[F] i8[R]^F",
    "look": f"{_GRAPH}; i4[S]!V u1[B] int[1]@V; i4[S] i4[S] i4[S]~V int[V]",
    "member": "; u1[B]; u1[A]",
    "move keys": "; any[M,W] int[P]<M int[P]; u8[N,W] u8[N,2] i4[N,O] i4[N,O]",
    "move planes": f"{_GROUND}; u8[M,3,D,4] int[P]<M int[P]<4; u8[N,3,D,4] u8[N,2] i4[N,4] i4[N,4]",
    "neighbours": "; keys[K]; keys[F] u2[K]=F",
    "pairs": f"{_GRAPH}; i4[S]!V int[1]; i4[P,2]<V",
    "play planes": f"{_GROUND} u8[3,D,4]; i8[4]; u2[L] i8[3]",
    "searches": f"{_GRAPH}; i4[S]<V; i4[S]",
    "solve": "; any u1[B]; u1[A]",
    "start": "; u1[B]; u1[A]",
    "subtrees": "; keys[K]; i8[5] u8[2] keys[F]",
}


def wrong_array(
    task: str, part: Part, puzzle: Puzzle, arrays: Sequence[Array], sizes: Sizes, own: bool = False
) -> str:  # fmt: skip
    """Return the first fault of the arrays of a part, or an empty string. `sizes` are those of the parts before it.

    Keys that this process has made, its `own`, are not looked at. A task itself refuses arrays that are too few or too
    many.
    """
    row = f"{task} {getattr(puzzle, 'mover', '')}" if task in ("move", "play") else task
    forms = FORMS[row].split(";")[_PARTS.index(part)].split()
    for place, (form, array) in enumerate(zip(forms, arrays, strict=False), 1):
        if not _fits(form, puzzle, array, sizes, own):
            return f"array {place} of the {part} of task {task} is not {form} of {puzzle.name}"
    return ""


@cache
def _parsed(form: str) -> tuple[str, list[str], str, str]:
    found = _FORM.fullmatch(form)
    assert found is not None, form  # noqa: S101
    kind, shape, sign, bound = found.groups("")
    return kind, shape.split(",") if shape else [], sign, bound


def _fits(form: str, puzzle: Puzzle, array: Array, sizes: Sizes, own: bool) -> bool:
    kind, shape, sign, bound = _parsed(form)
    if kind == "offsets":
        if array.dtype != np.int64 or array.ndim != 1 or not len(array) or array[0] or (np.diff(array) < 0).any():
            return False
        sizes |= {"V": len(array) - 1, "E": int(array[-1])}
        return True
    if kind in _BATCHES:
        layout = PAIR_LAYOUTS[puzzle.layout] if kind == "pairs" else puzzle.layout
        if not layout.holds(array) or (kind in ("sorted", "cuts") and not own and not is_increasing(array)):
            return False
        agree = _agrees(sizes, shape[0], len(array) + (kind == "cuts"))
        return agree and (kind != "keys" or own or bool(puzzle.are_keys(array).all()))
    numbers = array.dtype.kind in "iu" if kind == "int" else kind == "any" or array.dtype == np.dtype(kind)
    agree = kind == "any" or array.ndim == len(shape)
    agree = agree and all(_agrees(sizes, name, size) for name, size in zip(shape, array.shape, strict=False))
    return numbers and agree and (not sign or _holds(array, sign, bound, sizes))


def _agrees(sizes: Sizes, name: str, size: int) -> bool:
    if name == "D" and size > MOST_SIZE:
        return False
    return (int(name) if name.isdigit() else sizes.setdefault(name, size)) == size


def _holds(array: Array, sign: str, bound: str, sizes: Sizes) -> bool:
    least, most = (int(array.min()), int(array.max())) if array.size else (0, 0)
    if sign in "=^":
        lengths = np.diff(array, prepend=0) if sign == "^" else array
        # Each is too small for their sum to overflow.
        small = least >= 0 and most < 1 << 40 and (not lengths.size or int(lengths.min()) >= 0)
        return small and _agrees(sizes, bound, int(lengths.sum(dtype=np.int64)))
    if sign == "!" and not len(np.unique(array)) == len(array) <= LANES:
        return False
    end = int(bound) if bound.isdigit() else sizes[bound]
    return not array.size or (least >= -(sign == "~") and most < end + (sign == "@"))
