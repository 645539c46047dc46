"""Small components, each searched at once in memory by whoever has the chunk: a task (`worker.tasks`).

A component belongs to its least configuration. A search from another one gives nothing: the component comes with the
chunk that has the least.
"""

import numpy as np

from hakoiri.keys.layout import Keys, key_at
from hakoiri.keys.order import members
from hakoiri.puzzles.contract import Puzzle
from hakoiri.worker.layers.kernels import merge
from hakoiri.worker.transport.payload import Array, Arrays


def layers_from(puzzle: Puzzle, start: Keys, most: int) -> list[Keys]:
    """Return the layers of an undirected puzzle from one key; too many keys if they are more than `most`."""
    layers = [start]
    while len(layers[-1]) and sum(map(len, layers)) <= most:
        layers.append(merge([puzzle.expand(layers[-1]).successors], layers[-2:]))
    return layers


def components(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> list[Array]:
    """[increasing keys], shared [the most configurations] -> the components that these are the least keys of.

    That is [the number of keys done, the number of layers of each component, the size of each layer, their keys]. The
    search ends before the key with whose component there would be more than the most configurations.
    """
    (starts,), most = chunk, int(shared[0][0])
    found, lengths, sizes, met, done = [starts[:0]], list[int](), list[int](), starts[:0], 0
    for done in range(len(starts)):
        if members(met, starts[done : done + 1])[0]:
            continue
        layers = layers_from(puzzle, starts[done : done + 1], most - len(met))
        if len(met) + sum(map(len, layers)) > most:
            break
        keys = merge(layers, [])
        met = merge([met, keys], [])
        if key_at(keys, 0) == key_at(starts, done):
            found += layers[:-1]
            lengths.append(len(layers) - 1)
            sizes += map(len, layers[:-1])
    else:
        done = len(starts)
    return [np.array(each, dtype=np.int64) for each in ([done], lengths, sizes)] + [np.concatenate(found)]
