"""Permutations of stickers as pieces with orientations: stickers that all moves keep together are one piece.

Found by group theory alone: a piece is a block of imprimitivity (Atkinson, "An algorithm for finding the blocks of a
permutation group", 1975) on whose stickers moves act as a cycle.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Sized
from itertools import chain
from operator import index
from typing import Any

from hakoiri.errors import PuzzleError
from hakoiri.puzzles.definitions.definition import Definition, Orbit

_Rows = Sequence[Sequence[int]]
#: Permutations as lists or cycles, by name or in a list.
Generators = Mapping[Any, Sequence[int] | str] | Sequence[Sequence[int] | str]
_CYCLES = re.compile(r"\s*(\(\s*\d+([\s,]+\d+)*\s*\)\s*)*(\(\s*\)\s*)?")
#: The most places of cycles.
_MOST_PLACES = 100_000
#: A piece has at most so many stickers.
_MOST_STICKERS = 6
#: Steps to find the pieces of a puzzle: a second or two.
_MOST_STEPS = 3_000_000


class Steps:
    """The steps that are left to find pieces among stickers; `PuzzleError` ends what would take minutes."""

    def __init__(self) -> None:
        self.left = _MOST_STEPS

    def take(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise PuzzleError("finding the pieces takes too long: there are too many stickers for so many permutations")


def classes_of(rows: _Rows) -> list[list[int]]:
    """Return the classes of points that permutations mix, each increasing."""
    found, met = list[list[int]](), set[int]()
    for point in range(len(rows[0])):
        if point not in met:
            reached = [point]
            met.add(point)
            for here in reached:
                for row in rows:
                    if row[here] not in met:
                        met.add(row[here])
                        reached.append(row[here])
            found.append(sorted(reached))
    return found


def generators(permutations: Generators) -> dict[str, Sequence[int]]:
    """Return permutations as lists by name; `PuzzleError` for cycles that cannot be read."""
    if not isinstance(permutations, Mapping):
        permutations = {f"g{number}": each for number, each in enumerate(permutations, 1)}
    named = {str(name): _images(str(name), each) for name, each in permutations.items()}
    if len(named) < len(permutations):
        raise PuzzleError(f"two permutations have the same name; the names are {', '.join(named)}"[:200])
    places = max((len(each) for each in named.values() if isinstance(each, Sized)), default=0)
    return {
        name: [*each, *range(len(each), places)] if isinstance(permutations[key], str) else each
        for (name, each), key in zip(named.items(), permutations, strict=True)
    }


def _images(name: str, given: Sequence[int] | str) -> Sequence[int]:
    """Return a list as it is, and cycles as the list of as many places as they name."""
    if not isinstance(given, str):
        return given
    if not _CYCLES.fullmatch(given):
        raise PuzzleError(f"{name}: {given[:80]!r} is no product of cycles; expected, say, '(0 1 2)(4 5)'")
    cycles = [[*map(int, re.findall(r"\d+", cycle))] for cycle in given.split(")")]
    points = [*chain.from_iterable(cycles)]
    if len({*points}) < len(points):
        raise PuzzleError(f"{name}: {Counter(points).most_common(1)[0][0]} is twice in its cycles")
    if max(points, default=0) >= _MOST_PLACES:
        raise PuzzleError(f"{name}: place {max(points)} is beyond the limit of {_MOST_PLACES:,} places")
    found = [*range(max(points, default=-1) + 1)]
    for cycle in cycles:
        for point, image in zip(cycle, cycle[1:] + cycle[:1], strict=True):
            found[point] = image
    return found


def from_permutations(
    name: str, permutations: Mapping[str, Sequence[int]], identical: _Rows, first: int, by_piece: bool = False
) -> Definition:
    """Return the definition of permutations: place i takes what is at place ``permutations[name][i]``.

    Stickers in one list of `identical` look alike or, `by_piece`, belong to identical pieces, of which each is named by
    one of its stickers.
    """
    permutations, identical = _checked(permutations, identical)
    rows = list(permutations.values())
    group = {point: number for number, each in enumerate(identical) if len(each) > 1 for point in each}
    named, frames, steps = {point for each in identical for point in each}, list[list[list[int]]](), Steps()
    # Stickers that follow others are left out: smaller classes last.
    for points in sorted(classes_of(rows), key=lambda points: (-len(points), points)):
        listed = {*points} & group.keys()
        images = (_dropped(points, frame, rows, group, named, by_piece, steps) for frame in frames)
        if (image := next(filter(None, images), None)) and (by_piece or not listed):
            group |= {point: group[after] for point, after in image.items() if after in listed and point not in named}
            named |= image.keys() if named & {*points} else {*()}
        elif len(points) > 1:
            frames.append(_frames_of(points, rows, listed, steps))
    frames = sorted(frames) or [[[0]]]
    orbits = [Orbit(f"orbit{number}", len(frame), len(frame[0])) for number, frame in enumerate(frames, 1)]
    pieces = list[int]()
    for frame in frames:
        kinds = dict[int, int]()
        for stickers in frame:
            # A piece of several stickers, of which one looks like another piece's, is told by its other ones.
            alike = group if by_piece or len(stickers) == 1 else dict[int, int]()
            kind = next((alike[point] for point in stickers if point in alike), -1 - stickers[0])
            pieces.append(kinds.setdefault(kind, len(kinds)))
    flat = [stickers for frame in frames for stickers in frame]
    home = {point: (place, turn) for place, stickers in enumerate(flat) for turn, point in enumerate(stickers)}
    moves = {}
    for move, row in permutations.items():
        sources = [home[row[stickers[0]]] for stickers in flat]
        twist = [-turn % len(stickers) for (_, turn), stickers in zip(sources, flat, strict=True)]
        moves[move] = ([place for place, _ in sources], twist)
    return Definition(
        name=name, orbits=orbits, pieces=pieces, twists=[0] * len(flat), seen=[len(each) for each in flat],
        moves=moves, usual=list(moves), first=first,
    )  # fmt: skip


def _checked(
    permutations: Mapping[str, Sequence[int]], identical: _Rows
) -> tuple[dict[str, list[int]], list[list[int]]]:
    """Return permutations and lists of places as numbers; `PuzzleError` for what is not."""
    try:
        found = {move: [*map(index, row)] for move, row in permutations.items()}
        alike = [[*map(index, each)] for each in identical]
    except TypeError as error:
        expected = "lists of whole numbers, and a list of such lists for identical"
        raise PuzzleError(f"{error}; expected permutations as {expected}") from None
    rows = [*found.values()]
    if not rows or not rows[0]:
        raise PuzzleError("no permutations are given")
    listed_twice = Counter(point for each in alike for point in {*each}).most_common(1)
    if listed_twice and listed_twice[0][1] > 1:
        raise PuzzleError(f"place {listed_twice[0][0]} is in two lists of identical ones")
    for move, row in found.items():
        if sorted(row) == list(range(1, len(rows[0]) + 1)):
            raise PuzzleError(f"{move} is a permutation of 1 to {len(row)}; places begin at 0: take 1 from each number")
        if sorted(row) != list(range(len(rows[0]))):
            raise PuzzleError(f"{move} is not a permutation of 0 to {len(rows[0]) - 1}: {[*row][:40]}")
    if wrong := [point for each in alike for point in each if not 0 <= point < len(rows[0])]:
        raise PuzzleError(f"identical: place {wrong[0]} is not 0 to {len(rows[0]) - 1}")
    return found, alike


def _dropped(
    points: list[int], frame: list[list[int]], rows: _Rows, group: Mapping[int, int], named: set[int], by_piece: bool,
    steps: Steps,
) -> dict[int, int] | None:  # fmt: skip
    """Return the map by which a class of stickers follows a frame, if the frame's pieces tell where these are.

    They do if all of them are distinct; or, `by_piece`, if one of the two has no names, so that both belong to the same
    pieces.
    """
    leader = {point for stickers in frame for point in stickers}
    distinct = not leader & group.keys() or (not by_piece and len(frame[0]) > 1)
    same_pieces = by_piece and not (leader & named and {*points} & named)
    return following(points, frame, rows, steps) if distinct or same_pieces else None


def following(
    points: list[int], frame: list[list[int]], rows: _Rows, steps: Steps | None = None
) -> dict[int, int] | None:
    """Return a map from the stickers of a `frame` to the `points` that all moves keep: the frame tells where these are.

    ``None`` if no map does. `PuzzleError` if no `steps` are left.
    """
    steps = steps or Steps()
    images = (_image(frame[0][0], candidate, rows, steps) for candidate in points)
    return next(filter(None, images), None)


def _image(first: int, candidate: int, rows: _Rows, steps: Steps) -> dict[int, int] | None:
    """Return the map that all moves keep and that takes `first` to `candidate`, if there is one."""
    image, queue = {first: candidate}, [first]
    for here in queue:
        steps.take(4 + len(rows))
        for row in rows:
            after = row[image[here]]
            if row[here] not in image:
                image[row[here]] = after
                queue.append(row[here])
            elif image[row[here]] != after:
                return None
    return image


def _frames_of(points: list[int], rows: _Rows, listed: set[int], steps: Steps) -> list[list[int]]:
    """Return the pieces among the `points` of a class, each as its stickers in the order of its orientations.

    Pieces with as many stickers as possible, of which at most one is `listed`; that one is first.
    """
    best = [[point] for point in points]
    for blocks in _block_systems(points, rows, steps):
        steps.take(len(points) * len(rows))
        frame = _cyclic(blocks, rows)
        if frame and len(frame[0]) > len(best[0]) and all(len({*each} & listed) <= 1 for each in frame):
            best = [_from_listed(each, listed) for each in frame]
    return sorted(best)


def _from_listed(stickers: list[int], listed: set[int]) -> list[int]:
    first = next((at for at, point in enumerate(stickers) if point in listed), stickers.index(min(stickers)))
    return stickers[first:] + stickers[:first]


def _block_systems(points: list[int], rows: _Rows, steps: Steps) -> Iterator[list[list[int]]]:
    """Yield the systems of blocks that the first point and another generate, if blocks are as small as pieces."""
    for other in points[1:]:
        blocks, joins = dict[int, list[int]](), [(points[0], other)]
        for one, two in joins:
            first, second = (blocks.get(point, [point]) for point in (one, two))
            if two in first:
                continue
            if len(first) + len(second) > _MOST_STICKERS:
                break
            blocks |= dict.fromkeys(joined := sorted(first + second), joined)
            joins += [(row[one], row[two]) for row in rows]
            steps.take(4 + len(rows))
        else:
            yield [blocks[point] for point in points if blocks[point][0] == point]


def _cyclic(blocks: list[list[int]], rows: _Rows) -> list[list[int]] | None:
    """Return the blocks, each in an order that all moves keep but for a shift, or ``None``."""
    block_of = {point: number for number, block in enumerate(blocks) for point in block}
    carried, queue = {0: blocks[0]}, [0]
    shifts = set[tuple[int, ...]]()
    for here in queue:
        for row in rows:
            image = [row[point] for point in carried[here]]
            there = block_of[image[0]]
            if there not in carried:
                carried[there] = image
                queue.append(there)
            shifts.add(tuple(carried[there].index(point) for point in image))
    size = len(blocks[0])
    for shift in shifts:
        order, at = [0], shift[0]
        while at != 0 and len(order) < size:
            order.append(at)
            at = shift[at]
        if len(order) == size:
            turned = {tuple(order[(order.index(place) + by) % size] for place in range(size)) for by in range(size)}
            return [[carried[b][at] for at in order] for b in range(len(blocks))] if shifts <= turned else None
    return None
