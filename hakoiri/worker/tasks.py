"""The tasks of workers, by name, and the arrays that each may be given: a message from Redis can request nothing else.

A form such as ``i4[S]<V`` has the type of an array, its lengths, and the bounds of its numbers. Letters stand for
lengths and numbers that arrays of a task have in common: the first one sets them. A number after a letter is the most
that it may be. A type is numpy's, or one of these:

    int        integers of any size
    keys       configurations of the puzzle
    batch      any keys of its layout; ``sorted``, increasing ones; ``pairs``, pairs of them (`worker.census.forests`)
    cuts       increasing keys, between which there are so many ranges
    offsets    those of a graph of V vertices and E edges
    any        checked by the task itself

    <N    from 0 to N - 1; ``!N``, also distinct; ``~N``, or -1; ``@N``, or N
    =N    lengths of parts whose sum is N

A task is a pure function of the puzzle, the arrays of one chunk, and arrays shared by all chunks of a stage. So it may
be repeated, late, or done by any worker, with the same result.

A row names the function of a task as text, which is imported when the task is first done. So a run needs no code of
other tasks, and the digests of its code (`worker.program`) do not depend on it.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal, TypeVar

import numpy as np

from hakoiri import guest_table
from hakoiri.errors import TaskError
from hakoiri.keys.layout import PAIR_LAYOUTS
from hakoiri.keys.order import is_increasing
from hakoiri.loading import loaded
from hakoiri.puzzles.contract import Puzzle
from hakoiri.worker.pool import guarded
from hakoiri.worker.transport.payload import Array, Arrays, packed, unpacked

#: What the letters stand for.
Sizes = dict[str, int]
#: The parts of a row of the table.
Part = Literal["shared", "chunk", "result"]

_PARTS: tuple[Part, ...] = ("shared", "chunk", "result")
_FORM = re.compile(r"(\w+)(?:\[([\w,]+)\])?(?:([<!~@=])(\w+))?")
Work = Callable[[Puzzle, Arrays, Arrays], Arrays]
_Asked = TypeVar("_Asked")
_BATCHES = ("keys", "batch", "sorted", "layer", "cuts", "pairs")
_FOUND = "u8[3] i8[R]=B batch[B] i8[B]=A i8[B]=L u1[L]"
_GRAPH = "offsets i4[E]<V"


@dataclass
class Task:
    """A task: what chunks share; each has; each gives. Then its function, as text: the module and the name.

    `untimed` names a function that removes from an answer the time that it took: the only part that may differ between
    workers. The function of a task has the puzzle, the arrays of a chunk and the shared ones.
    """

    form: str
    function: str
    untimed: str = ""

    @property
    def module(self) -> str:
        """The module of its function."""
        return self.function.partition(":")[0]

    @cached_property
    def work(self) -> Work:
        """The function, imported when it is first needed."""
        found: Work = loaded(self.function)
        return found

    def without_time(self, answer: Arrays) -> Sequence[Array]:
        """Return an answer without the time that it took."""
        return loaded(self.untimed)(answer) if self.untimed else answer


_W = "hakoiri.worker."
#: Those of guests are in a table of their own.
TASKS: dict[str, Task] = {
    "before": Task(f"cuts[R] u8[3] u8[W]; keys[K]; {_FOUND}", f"{_W}layers.tasks:before"),
    "derive": Task("; keys[K]; batch[F] i8[K]=F i8[U]<K", f"{_W}layers.kernels:derive"),
    "expand": Task(f"cuts[R] u8[3]; keys[K]; {_FOUND}", f"{_W}layers.tasks:expand", f"{_W}layers.tasks:untimed"),
    "goals": Task(f"cuts[R] u8[3]; keys[K]; {_FOUND}", f"{_W}layers.tasks:goals"),
    "leading": Task(f"cuts[R] u8[3] sorted[T]; keys[K]; {_FOUND}", f"{_W}layers.tasks:leads"),
    "components": Task("i8[1]; sorted[K]; i8[1]@K i8[C]=P i8[P]=F keys[F]", f"{_W}census.small:components"),
    "forest": Task("; keys[K]; pairs[P] u8[2]", f"{_W}census.forests:forest"),
    "neighbours": Task("; keys[K]; keys[F] u2[K]=F", f"{_W}graphs.tasks:neighbours"),
    "diameters": Task(f"; {_GRAPH} i8[C]@V; i4[G,3]", f"{_W}graphs.tasks:diameters"),
    "eccentricities": Task("; keys[K] i8[C]<K; i4[C,4] i4[P,2]<K", f"{_W}graphs.tasks:eccentricities"),
    "look": Task(f"{_GRAPH}; i4[S256]!V u1[B] int[1]@V; i4[S] i4[S] i4[S]~V int[V]", f"{_W}graphs.tasks:look"),
    "pairs": Task(f"{_GRAPH}; i4[S256]!V int[1]; i4[P,2]<V", f"{_W}graphs.tasks:pairs"),
    "searches": Task(f"{_GRAPH}; i4[S]<V; i4[S]", f"{_W}graphs.tasks:searches"),
    **{name: Task(*row) for name, row in guest_table.TASKS.items()},
}


def task_of(name: str, puzzle: Puzzle) -> Task:
    """Return the row of a task for a puzzle."""
    return TASKS.get(f"{name} {getattr(puzzle, 'mover', '')}") or TASKS[name]


def wrong_array(task: str, part: Part, puzzle: Puzzle, arrays: Sequence[Array], sizes: Sizes, own: bool = False) -> str:
    """Return the first fault of the arrays of a part, or an empty string. `sizes` are those of the parts before it.

    Keys that this process has made, its `own`, are not looked at. A task itself refuses arrays that are too few or too
    many.
    """
    forms = task_of(task, puzzle).form.split(";")[_PARTS.index(part)].split()
    for place, (form, array) in enumerate(zip(forms, arrays, strict=False), 1):
        if not fits(form, puzzle, array, sizes, own):
            return f"array {place} of the {part} of task {task} is not {form} of {puzzle.name}"
    return ""


@cache
def _parsed(form: str) -> tuple[str, list[str], str, str]:
    found = _FORM.fullmatch(form)
    assert found is not None, form  # noqa: S101
    kind, shape, sign, bound = found.groups("")
    return kind, shape.split(",") if shape else [], sign, bound


def fits(form: str, puzzle: Puzzle, array: Array, sizes: Sizes, own: bool = False) -> bool:
    """Return whether an array has a form of the table; see `wrong_array`."""
    kind, shape, sign, bound = _parsed(form)
    if kind == "offsets":
        if array.dtype != np.int64 or array.ndim != 1 or not len(array) or array[0] or (np.diff(array) < 0).any():
            return False
        sizes |= {"V": len(array) - 1, "E": int(array[-1])}
        return True
    if kind in _BATCHES:
        layout = PAIR_LAYOUTS[puzzle.layout] if kind == "pairs" else puzzle.layout
        if not layout.holds(array) or (kind in ("sorted", "layer", "cuts") and not own and not is_increasing(array)):
            return False
        agree = _agrees(sizes, shape[0], len(array) + (kind == "cuts"))
        return agree and (kind not in ("keys", "layer") or own or bool(puzzle.are_keys(array).all()))
    numbers = array.dtype.kind in "iu" if kind == "int" else kind == "any" or array.dtype == np.dtype(kind)
    agree = kind == "any" or array.ndim == len(shape)
    agree = agree and all(_agrees(sizes, name, size) for name, size in zip(shape, array.shape, strict=False))
    return numbers and agree and (not sign or _holds(array, sign, bound, sizes))


def _agrees(sizes: Sizes, name: str, size: int) -> bool:
    if name.isdecimal():
        return int(name) == size
    # A letter, and perhaps the most that it may be.
    return size <= int(name[1:] or size) and sizes.setdefault(name[0], size) == size


def _holds(array: Array, sign: str, bound: str, sizes: Sizes) -> bool:
    least, most = (int(array.min()), int(array.max())) if array.size else (0, 0)
    if sign == "=":
        # Each is too small for their sum to overflow.
        return least >= 0 and most < 1 << 40 and _agrees(sizes, bound, int(array.sum(dtype=np.int64)))
    if sign == "!" and len(np.unique(array)) != len(array):
        return False
    end = int(bound) if bound.isdecimal() else sizes[bound]
    return not array.size or (least >= -(sign == "~") and most < end + (sign == "@"))


def measured(kind: type, request: type[_Asked], measure: Callable[[Any, _Asked], Any]) -> Work:
    """Return the task [`request`] -> [what `measure` finds]; `TaskError` unless the puzzle is of the `kind`."""

    def answered(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
        if not isinstance(puzzle, kind):
            raise TaskError(f"{puzzle.name} does not support this task: it is not {kind.__name__}")
        return packed(measure(puzzle, unpacked(chunk, request)))

    return answered


def checked(name: str, puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """Return the result of a task with arrays that others have made; `TaskError` for arrays that it does not take."""
    sizes = Sizes()
    wrong = wrong_array(name, "shared", puzzle, shared, sizes) or wrong_array(name, "chunk", puzzle, chunk, sizes)
    if wrong:
        raise TaskError(wrong)
    return task_of(name, puzzle).work(puzzle, chunk, shared)


def do_task(name: str, puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> list[Array]:
    """Return the result of a task, done in this process. Raises as `guarded` does."""
    return list(guarded(name, task_of(name, puzzle).work, puzzle, chunk, shared))
