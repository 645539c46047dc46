"""The tasks of workers, by name, and the arrays that each may be given: a message from Redis can request nothing else.

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
    =N    lengths of parts whose sum is N

A task is a pure function of the puzzle, the arrays of one chunk, and arrays shared by all chunks of a stage. So it may
be repeated, late, or done by any worker, with the same result.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Literal, TypeVar

import numpy as np

from hakoiri.errors import TaskError
from hakoiri.keys.order import is_increasing, sort_keys
from hakoiri.puzzles.capabilities import Dealt, Family, Placements, Scored
from hakoiri.puzzles.contract import Numbered, Puzzle
from hakoiri.puzzles.nakuron.board import MOST_SIZE
from hakoiri.storage.layers.blocks import lanes_of
from hakoiri.worker.census.forests import PAIR_LAYOUTS, Forest
from hakoiri.worker.graphs.lanes import LANES, look_from, narrowed, pairs_at
from hakoiri.worker.graphs.searches import Graph, component_distances, eccentricities_of
from hakoiri.worker.graphs.strong import all_diameters, bounded_diameter
from hakoiri.worker.layers.kernels import derive, simple_edges
from hakoiri.worker.layers.ranges import expand_chunk
from hakoiri.worker.layers.rules import goals_only, leading, predecessors
from hakoiri.worker.plays import moving, tilting
from hakoiri.worker.pool import guarded
from hakoiri.worker.solitaires import hunting as hunting_cards
from hakoiri.worker.solitaires import solving as solving_cards
from hakoiri.worker.studies import cosets, deals, designing, family
from hakoiri.worker.transport.payload import Array, Arrays, packed, unpacked

#: What the letters stand for.
Sizes = dict[str, int]
#: The parts of a row of the table.
Part = Literal["shared", "chunk", "result"]

_PARTS: tuple[Part, ...] = ("shared", "chunk", "result")
_FORM = re.compile(r"(\w+)(?:\[([\w,]+)\])?(?:([<!~@=])(\w+))?")
_BATCHES = ("keys", "batch", "sorted", "layer", "cuts", "pairs")
_FOUND = "u8[3] i8[R]=B batch[B] i8[B]=A i8[B]=L u1[L]"
_GRAPH, _GROUND = "offsets i4[E]<V", "u8[4,256,4] u8[4,256,4] u8[4,3,D,4] u8[1]<9"
#: Task, and mover of a scored puzzle (`puzzles.capabilities.Scored`) -> what chunks share; each has; each gives.
FORMS: Mapping[str, str] = {
    "before": f"cuts[R] u8[3] u8[W]; keys[K]; {_FOUND}",
    "coset": "; u1[B]; u1[A]",
    "derive": "; keys[K]; batch[F] i8[K]=F i8[U]<K",
    "design": "; u1[B]; u1[A]",
    "diameters": f"; {_GRAPH} i8[C]@V; i4[G,3]",
    "eccentricities": "; keys[K] i8[C]<K; i4[C,4] i4[P,2]<K",
    "expand": f"cuts[R] u8[3]; keys[K]; {_FOUND}",
    "forest": "; keys[K]; pairs[P] u8[2]",
    "goals": f"cuts[R] u8[3]; keys[K]; {_FOUND}",
    "hunt": "; u1[B]; u1[A]",
    "leading": f"cuts[R] u8[3] sorted[T]; keys[K]; {_FOUND}",
    "look": f"{_GRAPH}; i4[S]!V u1[B] int[1]@V; i4[S] i4[S] i4[S]~V int[V]",
    "member": "; u1[B]; u1[A]",
    "move keys": "; any[M,W] int[P]<M int[P]; u8[N,W] u8[N,2] i4[N,O] i4[N,O]",
    "move planes": f"{_GROUND}; u8[M,3,D,4] int[P]<M int[P]<4; u8[N,3,D,4] u8[N,2] i4[N,4] i4[N,4]",
    "neighbours": "; keys[K]; keys[F] u2[K]=F",
    "pairs": f"{_GRAPH}; i4[S]!V int[1]; i4[P,2]<V",
    "play planes": f"{_GROUND} u8[3,D,4]; u1[B]; u1[A]",
    "searches": f"{_GRAPH}; i4[S]<V; i4[S]",
    "solve": "; u1[B]; u1[A]",
    "start": "; u1[B]; u1[A]",
    "subtrees": "; keys[K]; i8[5] u8[2] keys[F]",
}


def wrong_array(task: str, part: Part, puzzle: Puzzle, arrays: Sequence[Array], sizes: Sizes, own: bool = False) -> str:
    """Return the first fault of the arrays of a part, or an empty string. `sizes` are those of the parts before it.

    Keys that this process has made, its `own`, are not looked at. A task itself refuses arrays that are too few or too
    many.
    """
    row = f"{task} {getattr(puzzle, 'mover', '')}" if task in ("move", "play") else task
    forms = FORMS[row].split(";")[_PARTS.index(part)].split()
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
    if name == "D" and size > MOST_SIZE:
        return False
    return (int(name) if name.isdigit() else sizes.setdefault(name, size)) == size


def _holds(array: Array, sign: str, bound: str, sizes: Sizes) -> bool:
    least, most = (int(array.min()), int(array.max())) if array.size else (0, 0)
    if sign == "=":
        # Each is too small for their sum to overflow.
        return least >= 0 and most < 1 << 40 and _agrees(sizes, bound, int(array.sum(dtype=np.int64)))
    if sign == "!" and not len(np.unique(array)) == len(array) <= LANES:
        return False
    end = int(bound) if bound.isdigit() else sizes[bound]
    return not array.size or (least >= -(sign == "~") and most < end + (sign == "@"))


Task = Callable[[Puzzle, Arrays, Arrays], Arrays]
_Asked = TypeVar("_Asked")


def expand(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[keys], shared [the cuts of a partition, `chunk_plan`] -> `ExpandedChunk`: their distinct successors by range."""
    (keys,), (cuts, plan) = chunk, shared
    return expand_chunk(puzzle, keys, cuts, plan)


def neighbours(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[keys] -> [the distinct sorted successors of each key in turn, without the key itself; the number of each]."""
    (keys,) = chunk
    return simple_edges(keys, *puzzle.expand(keys))


def forest(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[keys] -> [pairs that connect keys as their moves do (`worker.census.forests`); number of moves, the balance]."""
    (keys,) = chunk
    made = Forest(keys)
    made.link(0, *simple_edges(keys, *puzzle.expand(keys)), puzzle.undirected)
    return [made.pairs(), np.array([made.moves, made.balance], dtype=np.uint64)]


def diameters(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[offsets, targets, the first vertex of each and the end, or 0] of strong components, or of one -> `Diameters`."""
    offsets, targets, firsts = chunk
    graph = Graph(offsets, targets)
    return [all_diameters(graph, firsts) if len(firsts) > 1 else bounded_diameter(graph)]


def look(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[sources, packed bits of vertices searched, size of a side] in the shared graph -> `SearchResults`, narrowed."""
    sources, searched, evens = chunk
    graph = Graph(*shared)
    known = np.unpackbits(searched, count=len(graph.offsets) - 1).view(np.bool_)
    looked = look_from(graph, int(evens[0]), sources, known)
    return [*looked[:-1], narrowed(looked.away)]


def pairs(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[sources, their eccentricity] in the shared graph -> [all pairs (source, vertex) at that distance]."""
    sources, distance = chunk
    return [pairs_at(Graph(*shared), sources, int(distance[0]))]


def _measured(kind: type, request: type[_Asked], measure: Callable[[Any, _Asked], Any]) -> Task:
    """Return the task [`request`] -> [what `measure` finds]; `TaskError` unless the puzzle is of the `kind`."""

    def answered(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
        if not isinstance(puzzle, kind):
            raise TaskError(f"{puzzle.name} does not support this task: it is not {kind.__name__}")
        return packed(measure(puzzle, unpacked(chunk, request)))

    return answered


def subtrees(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[roots] -> [solutions, orbits, classes, nodes, microseconds; lanes; the solutions found, increasing].

    As in `SubtreeCounts`; the lanes are those of the digest of the solutions, which are left out themselves if the
    puzzle only counts. The microseconds of processor time are the only part that may differ between workers.
    """
    if not isinstance(puzzle, Placements):
        raise TaskError(f"{puzzle.name} has no subtrees")
    (roots,) = chunk
    began = time.thread_time()
    counted = puzzle.count_subtrees(roots)
    found = sort_keys(counted.found)
    tally = [counted.solutions, counted.orbits, counted.classes, counted.nodes, (time.thread_time() - began) * 1e6]
    lanes = np.array(lanes_of(found), dtype=np.uint64)
    return [np.array(tally, dtype=np.int64), lanes, found if puzzle.keeps else found[:0]]


def _moved(task: str, puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """Move: [boards, parents, moves] -> the boards that they lead to. Play: [a request for games] -> the best game.

    Shared are arrays of the puzzle, to play also the first board (`worker.plays.moving`).
    """
    if not isinstance(puzzle, Scored):
        raise TaskError(f"{puzzle.name} has no scored moves")
    moved: Arrays = getattr(_MOVERS[puzzle.mover], task)(puzzle, chunk, shared)
    return moved


#: The values of `puzzles.capabilities.Dealt.solver`, `.walker` and `Scored.mover`.
SOLVERS = {"layers": deals, "cards": solving_cards}
_MOVERS = {"keys": moving, "planes": tilting}
_WALKERS = {"deals": deals, "cards": hunting_cards}

TASKS: dict[str, Task] = {
    "expand": expand, "derive": derive,
    # As `expand`: the goals among the keys; those with a successor among the last array shared, which increases; the
    # predecessors that pass a Bloom filter, shared last.
    "goals": lambda puzzle, chunk, shared: expand(goals_only(puzzle), chunk, shared),
    "leading": lambda puzzle, chunk, shared: expand(leading(puzzle, lambda: shared[-1:]), chunk, shared[:-1]),
    "before": lambda puzzle, chunk, shared: expand(predecessors(puzzle, shared[-1]), chunk, shared[:-1]),
    # Graphs.
    "neighbours": neighbours, "forest": forest, "diameters": diameters, "look": look, "pairs": pairs,
    # [keys, the index of the first of each] of small components; [vertices] of the shared graph -> [eccentricities].
    "eccentricities": lambda puzzle, chunk, shared: component_distances(puzzle, *chunk),
    "searches": lambda puzzle, chunk, shared: [eccentricities_of(Graph(*shared), chunk[0])[0]],
    # Studies (`worker.studies`).
    "solve": _measured(Dealt, deals.SolveRequest, lambda puzzle, deal: SOLVERS[puzzle.solver].solve(*deal.of(puzzle))),
    "hunt": _measured(Dealt, deals.Leg, lambda puzzle, leg: _WALKERS[puzzle.walker].walk(puzzle, leg)),
    "member": _measured(Family, family.MemberRequest, family.measure),
    "design": _measured(Family, designing.DesignRequest, designing.design),
    "coset": _measured(Numbered, cosets.CosetRequest, cosets.fill),
    "start": _measured(Puzzle, deals.StartRequest, deals.measure),
    # Trees and plays.
    "subtrees": subtrees, "move": partial(_moved, "move"), "play": partial(_moved, "play"),
}  # fmt: skip


def checked(name: str, puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """Return the result of a task with arrays that others have made; `TaskError` for arrays that it does not take."""
    sizes = Sizes()
    wrong = wrong_array(name, "shared", puzzle, shared, sizes) or wrong_array(name, "chunk", puzzle, chunk, sizes)
    if wrong:
        raise TaskError(wrong)
    return TASKS[name](puzzle, chunk, shared)


def do_task(name: str, puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> list[Array]:
    """Return the result of a task, done in this process. Raises as `guarded` does."""
    return list(guarded(name, TASKS[name], puzzle, chunk, shared))


def solved(puzzle: Dealt, asked: deals.SolveRequest) -> deals.SolveResult:
    """Return the result of task ``solve``, done in this process. Raises as `guarded` does."""
    return unpacked(do_task("solve", puzzle, packed(asked), ()), deals.SolveResult)
