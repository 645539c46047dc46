"""Permutations of stickers as pieces with orientations: stickers that all moves keep together are one piece.

Found by group theory alone: a piece is a block of imprimitivity (Atkinson, "An algorithm for finding the blocks of a
permutation group", 1975) on whose stickers moves act as a cycle.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from hakoiri.errors import PuzzleError
from hakoiri.puzzles.definitions.definition import Definition, Orbit

_Rows = Sequence[Sequence[int]]
#: A piece has at most so many stickers.
_MOST_STICKERS = 6


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


def from_permutations(
    name: str, permutations: Mapping[str, Sequence[int]], identical: _Rows, first: int, by_piece: bool = False
) -> Definition:
    """Return the definition of permutations: place i takes what is at place ``permutations[name][i]``.

    Stickers in one list of `identical` look alike or, `by_piece`, belong to identical pieces, of which each is named by
    one of its stickers.
    """
    rows = list(permutations.values())
    if not rows or not len(rows[0]):
        raise PuzzleError("no permutations are given")
    listed_twice = Counter(point for each in identical for point in {*each}).most_common(1)
    if listed_twice and listed_twice[0][1] > 1:
        raise PuzzleError(f"place {listed_twice[0][0]} is in two lists of identical ones")
    for move, row in permutations.items():
        if sorted(row) != list(range(len(rows[0]))):
            raise PuzzleError(f"{move} is not a permutation of 0 to {len(rows[0]) - 1}: {[*row][:40]}")
    if wrong := [point for each in identical for point in each if not 0 <= point < len(rows[0])]:
        raise PuzzleError(f"identical: place {wrong[0]} is not 0 to {len(rows[0]) - 1}")
    group = {point: number for number, each in enumerate(identical) if len(each) > 1 for point in each}
    frames = list[list[list[int]]]()
    # Stickers that follow others are left out: smaller classes last.
    for points in sorted(classes_of(rows), key=lambda points: (-len(points), points)):
        listed = {*points} & group.keys()
        images = (following(points, frame, rows) for frame in frames) if by_piece or not listed else ()
        if image := next(filter(None, images), None):
            group |= {point: group[after] for point, after in image.items() if after in listed}
        elif len(points) > 1:
            frames.append(_frames_of(points, rows, listed))
    frames = sorted(frames) or [[[0]]]
    orbits = [Orbit(f"orbit{number}", len(frame), len(frame[0])) for number, frame in enumerate(frames, 1)]
    pieces = list[int]()
    for frame in frames:
        kinds = dict[int, int]()
        for stickers in frame:
            kind = next((group[point] for point in stickers if point in group), -1 - stickers[0])
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


def following(points: list[int], frame: list[list[int]], rows: _Rows) -> dict[int, int] | None:
    """Return a map from the stickers of a `frame` to the `points` that all moves keep: the frame tells where these are.

    ``None`` if no map does.
    """
    for candidate in points:
        image, queue = {frame[0][0]: candidate}, [frame[0][0]]
        for here in queue:
            for row in rows:
                if row[here] not in image:
                    image[row[here]] = row[image[here]]
                    queue.append(row[here])
        if all(image[row[here]] == row[image[here]] for here in queue for row in rows):
            return image
    return None


def _frames_of(points: list[int], rows: _Rows, listed: set[int]) -> list[list[int]]:
    """Return the pieces among the `points` of a class, each as its stickers in the order of its orientations.

    Pieces with as many stickers as possible, of which at most one is `listed`; that one is first.
    """
    best = [[point] for point in points]
    for blocks in _block_systems(points, rows):
        frame = _cyclic(blocks, rows)
        if frame and len(frame[0]) > len(best[0]) and all(len({*each} & listed) <= 1 for each in frame):
            best = [_from_listed(each, listed) for each in frame]
    return sorted(best)


def _from_listed(stickers: list[int], listed: set[int]) -> list[int]:
    first = next((at for at, point in enumerate(stickers) if point in listed), stickers.index(min(stickers)))
    return stickers[first:] + stickers[:first]


def _block_systems(points: list[int], rows: _Rows) -> Iterator[list[list[int]]]:
    """Yield the systems of blocks that the first point and another generate."""
    for other in points[1:]:
        leader = {point: point for point in points}

        def find(point: int, leader: dict[int, int] = leader) -> int:
            while leader[point] != point:
                point = leader[point]
            return point

        joins = [(points[0], other)]
        for pair in joins:
            one, two = map(find, pair)
            if one != two:
                leader[two] = one
                joins += [(row[one], row[two]) for row in rows]
        blocks = dict[int, list[int]]()
        for point in points:
            blocks.setdefault(find(point), []).append(point)
        if 1 < len(next(iter(blocks.values()))) <= _MOST_STICKERS:
            yield list(blocks.values())


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
