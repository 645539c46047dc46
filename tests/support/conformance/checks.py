"""The promises of `puzzles.contract`, each as a check of its own that can refuse a puzzle."""

import re
from collections.abc import Callable
from itertools import chain, islice, pairwise
from traceback import extract_tb

import numpy as np

from puzzles.capabilities import Placements, Quotient
from puzzles.contract import Puzzle
from puzzles.errors import ConfigurationError, PuzzleError
from puzzles.keys.layout import Key, Keys, ints, key_at
from puzzles.keys.order import is_increasing, members
from puzzles.keys.splitmix import random_words
from tests.support.conformance.pool import Pool

#: So many moves are told in words; so many configurations of the whole space are tried, each with some keys near by.
_TOLD, _TRIED = 200, 12
#: In a whole space below this key every other key must be refused.
_SCANNED = 8_000
#: A batch of more keys than any kernel handles at once.
_MANY = 1_000
#: Searches that compare configurations of an orbit end with the layer that brings them to this size.
_ALIKE = 300


def refusals(pool: Pool) -> dict[str, str]:
    """The checks that a puzzle does not pass, each with what is wrong."""
    found: dict[str, str] = {}
    for name, check in CHECKS.items():
        if _BUILDS_ON.get(name) not in found:
            try:
                check(pool)
            except Exception as error:
                found[name] = _said(error)
    return found


def _said(error: Exception) -> str:
    where = extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in line {where.lineno} of {where.filename}: {error}"


def check_attributes(pool: Pool) -> None:
    """What is said of the puzzle makes sense, and unknown options are refused."""
    puzzle = pool.puzzle
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]*", puzzle.name), f"name {puzzle.name!r}"
    assert puzzle.version > 0, f"version {puzzle.version}"
    assert puzzle.most_successors < 1 << 16, f"most_successors {puzzle.most_successors}"
    for name, option in puzzle.options.items():
        assert option.describe(), f"what {name} may be"
    try:
        pool.case.build({"no-such-option": "1"}, pool.case.start)
    except PuzzleError:
        return
    raise AssertionError("an unknown option is taken")


def check_start(pool: Pool) -> None:
    """What a run pins of the start and of the options makes the same puzzle again."""
    puzzle = pool.puzzle
    text = puzzle.start_text()
    _check_line(text)
    again = pool.case.build(puzzle.parameters, text)
    for name in ("parameters", "start", "layout", "undirected", "most_successors", "has_mirrors"):
        assert getattr(again, name) == getattr(puzzle, name), f"{name} of the puzzle made again from {text!r}"
    assert again.start_text() == text, f"the start of the puzzle made again is {again.start_text()!r}"


def check_expand(pool: Pool) -> None:
    """`expand` finds what `successors` finds, in whatever batch; the arrays are the caller's."""
    puzzle = pool.puzzle
    assert _expanded(puzzle, []) == [], "of no keys"
    for keys in _levels(pool):
        found = dict(zip(keys, _expanded(puzzle, keys), strict=True))
        for key, successors in found.items():
            assert successors == sorted(pool.successors[key]), f"of {puzzle.render(key)}"
        many = keys * (_MANY // len(keys) + 1)
        for batch in (*([key] for key in keys), keys[::-1], sorted(keys * 2), many):
            assert _expanded(puzzle, batch) == [found[key] for key in batch], f"in a batch of {len(batch)}"
        _check_ownership(puzzle, puzzle.keys(keys))


def _levels(pool: Pool) -> list[list[Key]]:
    """The configurations that may be expanded together: all, or those of a level of a tree."""
    if not isinstance(pool.puzzle, Placements):
        return [pool.keys]
    levels: dict[int, list[Key]] = {}
    for key in pool.keys:
        placed = int(np.count_nonzero(pool.puzzle.placings(pool.puzzle.keys([key]))))
        levels.setdefault(placed, []).append(key)
    return list(levels.values())


def _expanded(puzzle: Puzzle, keys: list[Key]) -> list[list[Key]]:
    """What `expand` finds for each key, sorted."""
    successors, counts = puzzle.expand(puzzle.keys(keys))
    assert puzzle.layout.holds(successors), f"{successors.dtype} of shape {successors.shape}"
    assert (counts.dtype, counts.shape) == (np.uint16, (len(keys),)), f"counts {counts.dtype} {counts.shape}"
    assert int(counts.sum()) == len(successors), f"{len(successors)} successors, counts say {counts.sum()}"
    assert counts.max(initial=0) <= puzzle.most_successors, f"{counts.max()} successors"
    numbers = iter(ints(successors))
    return [sorted(islice(numbers, each)) for each in counts.tolist()]


def _check_ownership(puzzle: Puzzle, batch: Keys) -> None:
    first = puzzle.expand(batch)
    successors, counts = first.successors.copy(), first.counts.copy()
    second = puzzle.expand(batch[:-1].copy())
    assert not np.shares_memory(first.successors, second.successors), "two calls give the same array"
    first.successors[:], first.counts[:] = 0, 0
    third = puzzle.expand(batch)
    assert np.array_equal(third.successors, successors), "the successors of a second call are others"
    assert np.array_equal(third.counts, counts), "the counts of a second call are others"


def check_undirected(pool: Pool) -> None:
    """Where it is claimed, every move can be taken back."""
    puzzle = pool.puzzle
    if not puzzle.undirected:
        return
    reached = list(dict.fromkeys(after for _, after in pool.arcs))
    back = dict(zip(reached, map(set, _expanded(puzzle, reached)), strict=True))
    for key, after in pool.arcs:
        assert key in back[after], f"{puzzle.render(key)} leads to {puzzle.render(after)}, which does not lead back"


def check_texts(pool: Pool) -> None:
    """Texts and keys lead to each other."""
    puzzle = pool.puzzle
    for key in pool.keys:
        text = puzzle.render(key)
        _check_line(text)
        if _reads_texts(puzzle):
            assert puzzle.parse(text) == puzzle.parse(f" {text}\n") == key, f"{text!r} read again"
        assert puzzle.parse(f" {key:#x}\n") == puzzle.parse(f"0X{key:X}") == key, f"{key:#x} read again"


def _reads_texts(puzzle: Puzzle) -> bool:
    return type(puzzle).parse_text is not Puzzle.parse_text


def check_refusals(pool: Pool) -> None:
    """What is no configuration is refused in one line; what is taken for one is a key that its text leads to."""
    puzzle, chance = pool.puzzle, random_words(1)
    for text in ("", "0x", "0xg", "0x-1", f"{puzzle.layout.greatest + 1:#x}"):
        assert _key_of(puzzle, text) is None, f"{text!r} is taken"
    for key in pool.keys:
        text = puzzle.render(key)
        one, other = sorted(next(chance) % len(text) for _ in range(2))
        for altered in (
            text[:one] + text[one + 1 :],
            text[:one] + text[other:] + text[one:other],
            f"{text[:one]}?{text[one + 1 :]}",
            f"{text}/{text[:one]}",
            f"{key ^ 1 << next(chance) % puzzle.layout.bits:#x}",
        ):
            _check_taken(puzzle, altered)


def _check_taken(puzzle: Puzzle, text: str) -> None:
    key = _key_of(puzzle, text)
    if key is not None:
        puzzle.check_key(key)
        back = _key_of(puzzle, puzzle.render(key)) if _reads_texts(puzzle) else key
        assert back == key, f"{text!r} is taken for {key:#x}, whose text is that of {back}"


def _key_of(puzzle: Puzzle, text: str) -> Key | None:
    """The key of a text; ``None`` where it is refused."""
    try:
        return puzzle.parse(text)
    except ConfigurationError as error:
        _check_line(str(error))
        return None


def check_listing(pool: Pool) -> None:
    """The whole space is listed once, in order; it holds what was met, and no key between its keys is one."""
    puzzle = pool.puzzle
    if not pool.blocks:
        return
    assert all(puzzle.layout.holds(block) for block in pool.blocks), "of another layout"
    listed = np.concatenate(pool.blocks)
    assert is_increasing(listed), "not strictly increasing"
    first, last = key_at(listed, 0), key_at(listed, -1)
    for key in {*pool.keys, *(after for _, after in pool.arcs)}:
        assert _listed(puzzle, listed, key) or (key > last and not pool.whole), f"{puzzle.render(key)} is not listed"
    chance, known = random_words(2), set(ints(listed)) if pool.whole else set()
    tried = ints(listed[:: len(listed) // _TRIED + 1])
    others = [key ^ 1 << next(chance) % puzzle.layout.bits for key in tried]
    others += [key + step for key in tried for step in (-1, 1)]
    if pool.whole and last < _SCANNED:
        others += [key for key in range(last + 50) if key not in known]
    for key in tried:
        puzzle.check_key(key)
    for key in others:
        if first <= key <= (puzzle.layout.greatest if pool.whole else last) and not _listed(puzzle, listed, key):
            assert _key_of(puzzle, f"{key:#x}") != key, f"{key:#x} is not listed, but a key"


def _listed(puzzle: Puzzle, listed: Keys, key: Key) -> bool:
    return bool(members(listed, puzzle.keys([key]))[0])


def check_goals(pool: Pool) -> None:
    """One truth value per key, in whatever batch; the goal is one."""
    puzzle, keys = pool.puzzle, pool.keys
    if pool.case.goal is not None:
        keys = [*keys, puzzle.parse(pool.case.goal)]
    goals = {key: puzzle.is_goal(puzzle.keys([key])) for key in keys}
    for key, found in goals.items():
        assert (found.dtype, found.shape) == (np.bool_, (1,)), f"{found.dtype} of shape {found.shape}"
        assert found[0] or pool.case.goal is None or key != keys[-1], f"{puzzle.render(key)} is no goal"
    for batch in (keys, keys[::-1], []):
        expected = [bool(goals[key][0]) for key in batch]
        assert puzzle.is_goal(puzzle.keys(batch)).tolist() == expected, f"in a batch of {len(batch)}"


def check_mirrors(pool: Pool) -> None:
    """Where there are mirror images, `canonical` names their classes and keeps moves and goals."""
    puzzle, batch = pool.puzzle, pool.puzzle.keys(pool.keys)
    if not puzzle.has_mirrors:
        try:
            puzzle.canonical(batch)
        except PuzzleError:
            return
        raise AssertionError("there are images, and has_mirrors is False")
    images = puzzle.canonical(batch)
    assert puzzle.layout.holds(images), f"{images.dtype} of shape {images.shape}"
    assert all(image <= key for key, image in zip(pool.keys, ints(images), strict=True)), "greater than the key"
    assert ints(puzzle.canonical(images)) == ints(images), "the image of an image is another"
    assert ints(puzzle.canonical(batch[::-1].copy())) == ints(images)[::-1], "it depends on the batch"
    assert puzzle.is_goal(images).tolist() == puzzle.is_goal(batch).tolist(), "goals are not kept"
    moves = zip(*(_expanded(puzzle, each) for each in (pool.keys, ints(images))), strict=True)
    for key, found in zip(pool.keys, moves, strict=True):
        here, there = (sorted(ints(puzzle.canonical(puzzle.keys(successors)))) for successors in found)
        assert here == there, f"the moves of {puzzle.render(key)} and of its image differ"


def check_orbits(pool: Pool) -> None:
    """Configurations of the same number are alike: so many moves, to so many of each number, and so many layers on."""
    puzzle, keys = pool.puzzle, pool.keys
    orbits = puzzle.orbits(puzzle.keys(keys))
    if orbits is None:
        return
    assert (orbits.dtype, orbits.shape) == (np.int64, (len(keys),)), f"{orbits.dtype} of shape {orbits.shape}"
    number_of = dict(zip(keys, orbits.tolist(), strict=True))
    backwards = puzzle.orbits(puzzle.keys(keys[::-1]))
    assert backwards.tolist() == orbits.tolist()[::-1], "they depend on the batch"
    alike: dict[int, list[Key]] = {}
    for key, number in number_of.items():
        alike.setdefault(number, []).append(key)
    for number, several in alike.items():
        profiles = {_profile(puzzle, key) for key in several[:: len(several) // 4 + 1]}
        assert len(profiles) == 1, f"configurations of orbit {number} have other layers"
        following = {tuple(sorted(puzzle.orbits(puzzle.keys(pool.successors[key])).tolist())) for key in several}
        assert len(following) == 1, f"configurations of orbit {number} lead to other orbits"


def _profile(puzzle: Puzzle, start: Key) -> tuple[int, ...]:
    """The sizes of the layers from `start`."""
    seen, layer, sizes = {start}, [start], []
    while layer and len(seen) < _ALIKE:
        sizes.append(len(layer))
        layer = sorted({*chain.from_iterable(_expanded(puzzle, layer))} - seen)
        seen.update(layer)
    return (*sizes, len(layer))


def check_moves_in_words(pool: Pool) -> None:
    """Every move has words on one line, unlike those of the other moves of its configuration; so have paths."""
    puzzle = pool.puzzle
    for path in pool.paths:
        real = _lifted(puzzle, path) if isinstance(puzzle, Quotient) else path
        words = (puzzle.base if isinstance(puzzle, Quotient) else puzzle).describe_moves(real)
        assert len(words) == len(path) - 1, f"{len(path) - 1} moves are told in {len(words)} words"
        for said in words:
            _check_words(said)
    if isinstance(puzzle, Quotient):
        return
    known: dict[tuple[Key, str], Key] = {}
    for before, after in islice(pool.arcs, _TOLD):
        said = puzzle.describe_move(before, after)
        _check_words(said)
        other = known.setdefault((before, said), after)
        assert other == after or pool.case.vague, f"{said!r} from {puzzle.render(before)} leads to two configurations"


def _lifted(puzzle: Quotient, path: list[Key]) -> list[Key]:
    """The real path that belongs to one of classes."""
    real = puzzle.lift(path, path[0])
    assert [puzzle.parse(f"{key:#x}") for key in real] == path, "the lifted path has other classes"
    for before, after in pairwise(real):
        assert after in puzzle.base.successors(before), f"no move from {before:#x} to {after:#x} of the lifted path"
    return real


def _check_words(said: str) -> None:
    assert said, "a move has no words"
    _check_line(said)


def _check_line(text: str) -> None:
    assert text.isprintable(), f"{text!r} is not one line"
    assert text == text.strip(), f"{text!r} has blanks around it"


#: Promise -> the check that refuses who breaks it.
CHECKS: dict[str, Callable[[Pool], None]] = {
    "attributes": check_attributes,
    "start": check_start,
    "expand": check_expand,
    "undirected": check_undirected,
    "texts": check_texts,
    "refusals": check_refusals,
    "listing": check_listing,
    "goals": check_goals,
    "mirrors": check_mirrors,
    "orbits": check_orbits,
    "moves in words": check_moves_in_words,
}
#: What a check takes for granted: if that is refused, it does not look.
_BUILDS_ON = {"undirected": "expand", "mirrors": "expand", "orbits": "expand", "refusals": "texts"}
