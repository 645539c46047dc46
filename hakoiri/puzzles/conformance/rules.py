"""Checks of a puzzle's promises about its moves, goals, whole space and symmetries."""

from collections.abc import Callable, Iterator
from itertools import chain, islice

import numpy as np

from hakoiri.errors import ConfigurationError, PuzzleError
from hakoiri.keys.layout import Key, Keys, ints, key_at
from hakoiri.keys.order import is_increasing, members
from hakoiri.keys.splitmix import random_words
from hakoiri.puzzles.conformance.pool import Pool, RefusedError, describe_key, kind_of
from hakoiri.puzzles.contract import Puzzle, goal_of, spread_of

#: The number of configurations of the whole space that are tried, each with some neighbouring keys.
_TRIED = 12
#: In a whole space below this key every other key must be refused.
_SCANNED = 8_000
#: The most configurations of a puzzle whose kernel for bitmaps is tried.
_MOST_BITS = 1 << 24
#: A batch of more keys than any kernel handles at once.
_MANY = 1_000


def check_expand(pool: Pool) -> None:
    """`expand`, and `spread` where there is one, find the same as `successors`; arrays are the caller's."""
    puzzle = pool.puzzle
    if expanded(puzzle, []) != []:
        raise RefusedError("expand of an empty batch returns successors")
    for keys in pool.puzzle.batches(pool.keys):
        found = dict(zip(keys, expanded(puzzle, keys), strict=True))
        for key, successors in found.items():
            _check_agreement(puzzle, key, successors, pool.successors[key])
        many = keys * (_MANY // len(keys) + 1)
        for some in (*([key] for key in keys), keys[::-1], sorted(keys * 2), many):
            if expanded(puzzle, some) != [found[key] for key in some]:
                raise RefusedError(
                    f"expand returns other successors in a batch of {len(some)} keys than in one of {len(keys)}"
                )
        batch = puzzle.keys(keys)
        first = puzzle.expand(batch)
        copied = first.successors.copy(), first.counts.copy()
        if np.shares_memory(first.successors, puzzle.expand(batch[:-1].copy()).successors):
            raise RefusedError("two calls of expand return the same array; each must return a new one")
        first.successors[:], first.counts[:] = 0, 0
        if not all(map(np.array_equal, puzzle.expand(batch), copied)):
            raise RefusedError(
                "expand returns something else when it is called again; its arrays must be new each time"
            )
    if puzzle.has_kernel and puzzle.undirected:
        for _, after in _one_way(pool):
            _check_agreement(puzzle, after, expanded(puzzle, [after])[0], puzzle.successors(after))
    _check_bits(pool)


def _check_bits(pool: Pool) -> None:
    """Check the kernel for bitmaps on some configurations, one by one, unless there are too many in all."""
    puzzle, kernel, numbers = pool.puzzle, spread_of(pool.puzzle), pool.puzzle.numbers or 0
    if kernel is None or numbers > _MOST_BITS:
        return
    for key in pool.keys[:_TRIED]:
        words, found = np.zeros(kernel.block // 64, dtype=np.uint64), np.zeros(-(-numbers // 64), dtype=np.uint64)
        words[key % kernel.block // 64] = 1 << key % 64
        kernel.write(words, key // kernel.block * kernel.block, found)
        bits = np.flatnonzero(np.unpackbits(found.view(np.uint8), bitorder="little")).tolist()
        if strays := {*bits} ^ {*pool.successors[key]}:
            missing = min(strays) not in bits
            said = f"spread {'leaves out' if missing else 'sets'} {describe_key(puzzle, min(strays))}"
            raise RefusedError(f"successors of {describe_key(puzzle, key)}: {said}")


def _check_agreement(puzzle: Puzzle, key: Key, fast: list[Key], plain: list[Key]) -> None:
    if fast == sorted(plain):
        return
    said = f"expand returns {len(fast)} and successors {len(plain)}, because one of them returns duplicates"
    if strays := set(fast) ^ set(plain):
        stray = min(strays)
        more, less = ("expand", "successors") if stray in fast else ("successors", "expand")
        said = f"{more} returns {describe_key(puzzle, stray)}, {less} does not"
    raise RefusedError(f"successors of {describe_key(puzzle, key)}: {said}")


def expanded(puzzle: Puzzle, keys: list[Key]) -> list[list[Key]]:
    """Return the successors that `expand` finds for each key, sorted."""
    successors, counts = puzzle.expand(puzzle.keys(keys))
    if not puzzle.layout.holds(successors):
        raise RefusedError(
            f"expand returns successors as {kind_of(successors)}, which is not layout {puzzle.layout.name}"
        )
    if counts.dtype != np.uint16 or counts.shape != (len(keys),):
        raise RefusedError(f"expand returns counts as {kind_of(counts)}, expected uint16 of shape ({len(keys)},)")
    if int(counts.sum()) != len(successors):
        raise RefusedError(f"expand returns {len(successors)} successors, but counts whose sum is {counts.sum()}")
    if counts.max(initial=0) > puzzle.most_successors:
        raise RefusedError(
            f"expand returns {counts.max()} successors, more than most_successors, {puzzle.most_successors}"
        )
    numbers = iter(ints(successors))
    return [sorted(islice(numbers, each)) for each in counts.tolist()]


def check_undirected(pool: Pool) -> None:
    """Every move can be taken back, if `undirected` says so."""
    if not pool.puzzle.undirected:
        return
    for ends in _one_way(pool):
        here, there = (describe_key(pool.puzzle, key) for key in ends)
        raise RefusedError(f"a move leads from {here} to {there}, and none leads back; set undirected = False")


def _one_way(pool: Pool) -> Iterator[tuple[Key, Key]]:
    reached = list(dict.fromkeys(after for _, after in pool.arcs))
    back = dict(zip(reached, map(set, expanded(pool.puzzle, reached)), strict=True))
    return ((key, after) for key, after in pool.arcs if key not in back[after])


def check_listing(pool: Pool) -> None:
    """`configurations`, if it lists the whole space, lists each configuration once, in order, and nothing else."""
    puzzle = pool.puzzle
    if not pool.blocks:
        return
    for block in pool.blocks:
        if not puzzle.layout.holds(block):
            raise RefusedError(f"configurations returns {kind_of(block)}, which is not layout {puzzle.layout.name}")
    listed = np.concatenate(pool.blocks)
    if not is_increasing(listed):
        raise RefusedError("configurations returns keys that are not strictly increasing")
    last = key_at(listed, -1)
    for key in {*pool.keys, *(after for _, after in pool.arcs)}:
        if not (_listed(puzzle, listed, key) or (key > last and not pool.whole)):
            raise RefusedError(f"configurations leaves out {describe_key(puzzle, key)}")
    puzzle, chance, known = pool.puzzle, random_words(2), set(ints(listed)) if pool.whole else set()
    first, last = key_at(listed, 0), key_at(listed, -1)
    tried = ints(listed[:: len(listed) // _TRIED + 1])
    others = [key ^ 1 << next(chance) % puzzle.layout.bits for key in tried]
    others += [key + step for key in tried for step in (-1, 1)]
    if pool.whole and last < _SCANNED:
        others += [key for key in range(last + 50) if key not in known]
    for key in tried:
        puzzle.check_key(key)
    for key in others:
        within = first <= key <= (puzzle.layout.greatest if pool.whole else last)
        if within and not _listed(puzzle, listed, key) and key_of(puzzle, f"{key:#x}") == key:
            raise RefusedError(f"configurations leaves out {key:#x}, which check_key accepts")


def _listed(puzzle: Puzzle, listed: Keys, key: Key) -> bool:
    return bool(members(listed, puzzle.keys([key]))[0])


def key_of(puzzle: Puzzle, text: str) -> Key | None:
    """Return the key of a text; ``None`` if it is refused, in one line."""
    try:
        return puzzle.parse(text)
    except ConfigurationError as error:
        if not str(error).isprintable():
            raise RefusedError(f"the error for {text!r} has more than one line") from error
        return None


def check_keys(pool: Pool) -> None:
    """`are_keys` accepts every configuration, in every batch."""
    puzzle = pool.puzzle
    keys = [*pool.keys, *(after for _, after in pool.arcs)]
    for batch in (keys, keys[::-1], sorted(keys), []):
        found = puzzle.are_keys(puzzle.keys(batch))
        if found.dtype != np.bool_ or found.shape != (len(batch),):
            raise RefusedError(f"are_keys returns {kind_of(found)} for {len(batch)} keys, expected one bool each")
        if not found.all():
            raise RefusedError(f"are_keys refuses {describe_key(puzzle, batch[int(found.argmin())])}")


def check_goals(pool: Pool) -> None:
    """`is_goal` gives one truth value per key, in every batch; for `only_goal` alone, if there is one."""
    puzzle, keys, only = pool.puzzle, pool.keys, goal_of(pool.puzzle)
    if only is not None:
        keys = [only, *keys]
    if pool.case.goal is not None:
        keys = [*keys, puzzle.parse(pool.case.goal)]
    goals = {key: puzzle.is_goal(puzzle.keys([key])) for key in keys}
    for key, found in goals.items():
        if found.dtype != np.bool_ or found.shape != (1,):
            raise RefusedError(f"is_goal returns {kind_of(found)} for one key, expected bool of shape (1,)")
        if not found[0] and pool.case.goal is not None and key == keys[-1]:
            raise RefusedError(f"is_goal denies that {describe_key(puzzle, key)} is a goal")
        if only is not None and bool(found[0]) != (key == only):
            raise RefusedError(f"is_goal and only_goal differ for {describe_key(puzzle, key)}")
    for batch in (keys, keys[::-1], []):
        if puzzle.is_goal(puzzle.keys(batch)).tolist() != [bool(goals[key][0]) for key in batch]:
            raise RefusedError(
                f"is_goal returns something else for a batch of {len(batch)} keys than for each key by itself"
            )


#: Searches that compare configurations of an orbit end with the layer that brings them to this size.
_ALIKE = 300


def check_mirrors(pool: Pool) -> None:
    """`canonical`, if `has_mirrors`, names the class of a key and its `mirrors`, by a goal if it has one."""
    puzzle, batch, maps = pool.puzzle, pool.puzzle.keys(pool.keys), pool.puzzle.mirrors()
    if not puzzle.has_mirrors:
        try:
            images = puzzle.canonical(batch)
        except PuzzleError:
            return
        if ints(images) != pool.keys:
            raise RefusedError("canonical is defined, but has_mirrors is False")
        return
    images = puzzle.canonical(batch)
    if not puzzle.layout.holds(images):
        raise RefusedError(f"canonical returns {kind_of(images)}, which is not layout {puzzle.layout.name}")
    for key, image in zip(pool.keys, ints(images), strict=True):
        if image > key and not maps:
            raise RefusedError(f"canonical of {describe_key(puzzle, key)} is {image:#x}, which is not its least image")
    if ints(puzzle.canonical(images)) != ints(images):
        raise RefusedError("canonical of a canonical key is another key")
    if ints(puzzle.canonical(batch[::-1].copy())) != ints(images)[::-1]:
        raise RefusedError("canonical of a key depends on the batch that holds it")
    # A class may have goals and others; then the key that names it is a goal.
    goals, named = puzzle.is_goal(batch), puzzle.is_goal(images)
    if (goals > named).any() or (not maps and (goals != named).any()):
        raise RefusedError("a configuration is a goal and its mirror image is not")
    moves = zip(*(expanded(puzzle, each) for each in (pool.keys, ints(images))), strict=True)
    for key, found in zip(pool.keys, moves, strict=True):
        here, there = (sorted(ints(puzzle.canonical(puzzle.keys(successors)))) for successors in found)
        if here != there:
            raise RefusedError(
                f"the moves of {describe_key(puzzle, key)} are not the mirror images of the moves of its image"
            )
    _check_classes(pool, images)


def _check_classes(pool: Pool, named: Keys) -> None:
    """Check the maps of a puzzle's `mirrors`, and what it says of their orbits; `named` are the classes of the keys."""
    puzzle, batch = pool.puzzle, pool.puzzle.keys(pool.keys)
    for number, mirror in enumerate(puzzle.mirrors()):
        check_map(puzzle, mirror, pool.keys, f"mirror {number}")
        if ints(puzzle.canonical(mirror(batch))) != ints(named):
            raise RefusedError(f"canonical of a key is not that of its image by mirror {number}")
    sizes = puzzle.orbit_sizes(batch)
    for key, size in zip(pool.keys, [] if sizes is None else sizes.tolist(), strict=sizes is not None):
        if (images := len(orbit_of(puzzle, puzzle.keys([key])))) != size:
            raise RefusedError(f"orbit_sizes of {describe_key(puzzle, key)} is {size}, but it has {images} images")


def orbit_of(puzzle: Puzzle, keys: Keys) -> Keys:
    """Return all mirror images of some keys, themselves included, increasing: the `mirrors` are applied to the end."""
    found, size, maps = keys, 0, puzzle.mirrors()
    while size < len(found):
        size, found = len(found), np.unique(np.concatenate([found, *(mirror(found) for mirror in maps)]), axis=0)
    return found


def check_map(puzzle: Puzzle, symmetry: Callable[[Keys], Keys], keys: list[Key], name: str = "the map") -> None:
    """Raise `RefusedError` unless a map takes keys to different ones, and their moves to the moves of the images.

    For a symmetry that a definition declares, too: then try some keys with all their successors.
    """
    images = symmetry(puzzle.keys(keys))
    if not puzzle.layout.holds(images) or len(images) != len(keys):
        raise RefusedError(f"{name} returns {kind_of(images)} for {len(keys)} keys")
    if len({*ints(images)}) != len(keys):
        raise RefusedError(f"{name} maps several configurations to one")
    moves = zip(keys, *(expanded(puzzle, each) for each in (keys, ints(images))), strict=True)
    for key, here, there in moves:
        if sorted(ints(symmetry(puzzle.keys(here)))) != sorted(there):
            raise RefusedError(
                f"{name} maps the moves of {describe_key(puzzle, key)} to others than those of its image"
            )


def check_orbits(pool: Pool) -> None:
    """Configurations that `orbits` or `vertex_transitive` call alike have as many moves, to alike ones, and layers."""
    puzzle, keys = pool.puzzle, pool.keys
    orbits = puzzle.orbits(puzzle.keys(keys))
    if orbits is None:
        return
    if orbits.dtype != np.int64 or orbits.shape != (len(keys),):
        raise RefusedError(
            f"orbits returns {kind_of(orbits)} for {len(keys)} keys, expected int64 of shape ({len(keys)},)"
        )
    number_of = dict(zip(keys, orbits.tolist(), strict=True))
    backwards = puzzle.orbits(puzzle.keys(keys[::-1]))
    if backwards is None or backwards.tolist() != orbits.tolist()[::-1]:
        raise RefusedError("orbits of a key depends on the batch that holds it")
    alike: dict[int, list[Key]] = {}
    for key, number in number_of.items():
        alike.setdefault(number, []).append(key)
    for number, several in alike.items():
        profiles = {_profile(puzzle, key): key for key in several[:: len(several) // 4 + 1]}
        if len(profiles) != 1:
            one, other, *_ = (describe_key(puzzle, key) for key in profiles.values())
            raise RefusedError(f"{one} and {other} are of orbit {number}, but the layers around them differ in size")
        # By the orbits that a key leads to, sorted.
        after = ((key, puzzle.orbits(puzzle.keys(pool.successors[key]))) for key in several)
        following = {() if orbits is None else tuple(sorted(orbits.tolist())): key for key, orbits in after}
        if len(following) != 1:
            one, other, *_ = (describe_key(puzzle, key) for key in following.values())
            raise RefusedError(f"{one} and {other} are of orbit {number}, but lead to different orbits")


def check_symmetry_maps(pool: Pool) -> None:
    """Each of the `symmetry_maps` takes configurations to configurations, and their moves to moves of the images."""
    for number, symmetry in enumerate(pool.puzzle.symmetry_maps()):
        check_map(pool.puzzle, symmetry, pool.keys, f"symmetry map {number}")


def _profile(puzzle: Puzzle, start: Key) -> tuple[int, ...]:
    seen, layer, sizes = {start}, [start], []
    while layer and len(seen) < _ALIKE:
        sizes.append(len(layer))
        layer = sorted({*chain.from_iterable(expanded(puzzle, layer))} - seen)
        seen.update(layer)
    return (*sizes, len(layer))
