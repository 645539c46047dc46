"""Plain searches, and checks of a puzzle's batches against its rules and against plain searches."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

import numpy as np

from hakoiri.keys.layout import Key, Keys
from hakoiri.puzzles.contract import Puzzle

Successors = Callable[[Key], list[Key]]
SlowRules = Callable[[str, bool], Successors]
State = TypeVar("State")
#: A key, or the text of a configuration.
Ordered = TypeVar("Ordered", Key, str)


def reference_layers(successors: Callable[[Ordered], Iterable[Ordered]], start: Ordered) -> list[list[Ordered]]:
    """The layers from `start`: every configuration in the first layer that leads to it."""
    seen, layers = {start}, [[start]]
    while layers[-1]:
        following = {successor for key in layers[-1] for successor in successors(key)} - seen
        seen |= following
        layers.append(sorted(following))
    return layers[:-1]


def reference_distances(successors: Successors, start: Key) -> dict[Key, int]:
    layers = reference_layers(successors, start)
    return {key: depth for depth, layer in enumerate(layers) for key in layer}


def layers_of(puzzle: Puzzle, start: Key | None = None) -> Iterator[Keys]:
    """Yield the layers of an undirected puzzle with keys of one word, from its start or another one."""
    before, layer = puzzle.keys([]), puzzle.keys([puzzle.start if start is None else start])
    while len(layer):
        yield layer
        found = np.unique(puzzle.expand(layer).successors)
        before, layer = layer, found[~(np.isin(found, before) | np.isin(found, layer))]


def layer_sizes(puzzle: Puzzle, start: Key = 0, most: int = 1000) -> list[int]:
    """Return the numbers of configurations 0, 1, 2, ... moves from `start`, in at most `most` layers."""
    return [len(layer) for layer in islice(layers_of(puzzle, start), most)]


def plain_layer_sizes(successors: Callable[[State], Iterable[State]], start: State) -> list[int]:
    """The same from nothing but rules on states of any kind."""
    seen, layer, sizes = {start}, {start}, []
    while layer:
        sizes.append(len(layer))
        layer = {after for state in layer for after in successors(state)} - seen
        seen |= layer
    return sizes


def whole(puzzle: Puzzle) -> Keys:
    """Every configuration, which must be listed once, in order, as 0, 1, 2, ..."""
    keys = np.concatenate(list(puzzle.configurations()))
    assert keys.dtype == puzzle.layout.dtype
    assert (keys == np.arange(len(keys))).all()
    return keys


def sampled(puzzle: Puzzle, size: int, count: int, seed: int) -> Keys:
    """Some keys below `size`, shuffled: a few neighbours, and others from anywhere."""
    rng = np.random.default_rng(seed)
    begin = int(rng.integers(0, size - count))
    keys = {*rng.integers(begin, begin + count, count // 2).tolist(), *rng.integers(0, size, count // 2).tolist()}
    return puzzle.keys(rng.permutation(np.array(sorted({0, size - 1} | keys), dtype=np.uint64)).tolist())


def successors_of_each(puzzle: Puzzle, keys: Keys) -> list[list[Key]]:
    """Return the successors of each key by `expand`, sorted."""
    successors, counts = puzzle.expand(keys)
    assert successors.dtype == puzzle.layout.dtype
    assert counts.dtype == np.uint16
    assert len(counts) == len(keys)
    assert counts.sum() == len(successors)
    assert counts.max(initial=0) <= puzzle.most_successors
    ends = np.cumsum(counts)
    return [sorted(successors[end - count : end].tolist()) for end, count in zip(ends, counts, strict=True)]


def check_expand(puzzle: Puzzle, keys: Keys, moves: Callable[[str], Iterable[str]]) -> None:
    """`expand` finds what `successors` finds, and both what plain `moves` of texts say; text leads back to the key."""
    for key, found in zip(keys.tolist(), successors_of_each(puzzle, keys), strict=True):
        text = puzzle.render(key)
        assert puzzle.parse(text) == key
        assert found == sorted(puzzle.successors(key)), text
        assert found == sorted({puzzle.parse(after) for after in moves(text)}), text


def check_undirected(puzzle: Puzzle, keys: Keys) -> None:
    """Every move of a whole space can be taken back, leads to another configuration, and is there once."""
    successors, counts = puzzle.expand(keys)
    sources, targets = np.repeat(keys, counts).astype(np.uint64), successors.astype(np.uint64)
    size = np.uint64(len(keys))
    assert (targets < size).all()
    there, back = np.sort(sources * size + targets), np.sort(targets * size + sources)
    assert (there == back).all()
    assert (there[1:] != there[:-1]).all()
    assert (sources != targets).all()
