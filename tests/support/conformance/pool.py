"""A puzzle to be tried by the conformance suite, with some of its configurations."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from puzzles.contract import Puzzle
from puzzles.errors import PuzzleError
from puzzles.keys.layout import Key, Keys, ints, key_at
from puzzles.keys.splitmix import random_words

#: The steps of each walk from the start.
_WALKS = (5, 10, 20)
#: So many configurations are taken of the whole space.
_LISTED = 30
#: Spaces up to this size are listed whole.
_SMALL = 4_000
#: So many of a configuration and its successors are looked at by `check_key`.
_CHECKED = 6

Successors = dict[Key, list[Key]]


@dataclass(frozen=True)
class Case:
    """A puzzle to be tried: how it is made, and the text of one of its goals, if it has any.

    `vague`: two moves of a configuration may have the same words.
    """

    build: Callable[[Mapping[str, str], str | None], Puzzle]
    options: Mapping[str, str]
    start: str | None = None
    goal: str | None = None
    vague: bool = False


@dataclass(frozen=True)
class Pool:
    """A puzzle with some of its configurations, and their successors by the reference rules.

    `paths` are the walks, `blocks` the first ones of the whole space, or all, where the puzzle can list it.
    """

    case: Case
    puzzle: Puzzle
    paths: list[list[Key]]
    blocks: list[Keys]
    successors: Successors

    @property
    def keys(self) -> list[Key]:
        """The configurations whose successors are known."""
        return list(self.successors)

    @property
    def whole(self) -> bool:
        """Whether the blocks are the whole space."""
        return sum(map(len, self.blocks)) <= _SMALL

    @property
    def arcs(self) -> Iterator[tuple[Key, Key]]:
        """Each move of these, once."""
        return ((key, after) for key, found in self.successors.items() for after in dict.fromkeys(found))


def explored(case: Case) -> Pool:
    """The pool of a puzzle. Fails where the reference rules lead to what is no configuration."""
    puzzle = case.build(case.options, case.start)
    chance = random_words(len(_WALKS))
    successors: Successors = {}

    def expanded(key: Key) -> list[Key]:
        if key not in successors:
            successors[key] = puzzle.successors(key)
            found = [key, *successors[key]]
            for each in found:
                assert 0 <= each <= puzzle.layout.greatest, f"{each:#x} is no key of {puzzle.layout.name}"
            for each in found[:: len(found) // _CHECKED + 1]:
                puzzle.check_key(each)
        return successors[key]

    paths = []
    for steps in _WALKS:
        path = [puzzle.start]
        while len(path) <= steps and (found := expanded(path[-1])):
            path.append(found[next(chance) % len(found)])
        paths.append(path)
    blocks = _first_blocks(puzzle)
    for block in filter(puzzle.layout.holds, blocks):
        for _ in range(_LISTED // len(blocks) if len(block) else 0):
            expanded(key_at(block, next(chance) % len(block)))
    return Pool(case, puzzle, paths, blocks, successors)


def _first_blocks(puzzle: Puzzle) -> list[Keys]:
    """The first blocks of the whole space, enough for `_SMALL` keys; none where the puzzle cannot list it."""
    blocks: list[Keys] = []
    try:
        for block in puzzle.configurations():
            blocks.append(block)
            if sum(map(len, blocks)) > _SMALL:
                break
    except PuzzleError as error:
        assert "--whole" in str(error), f"configurations: {error}"
    return blocks


def digest_of(pool: Pool) -> str:
    """What must not change without a new version: keys, texts, moves and goals of what the walks meet."""
    puzzle, digest = pool.puzzle, hashlib.sha256()
    keys = list(dict.fromkeys(chain.from_iterable(pool.paths)))
    batch = puzzle.keys(keys)
    images = ints(puzzle.canonical(batch)) if puzzle.has_mirrors else keys
    for key, image, goal in zip(keys, images, puzzle.is_goal(batch).tolist(), strict=True):
        after = sorted(set(pool.successors.get(key) or puzzle.successors(key)))
        digest.update(repr((puzzle.layout.name, key, puzzle.render(key), after, image, goal)).encode())
    return digest.hexdigest()[:12]
