"""The plainest search there is. Slow and obviously right: every fast path is tested against it, `verify` uses it."""

from collections import deque
from collections.abc import Callable, Iterable

from puzzles.keys.layout import Key

Successors = Callable[[Key], Iterable[Key]]


def reference_distances(successors: Successors, source: Key) -> dict[Key, int]:
    """The distance from `source` of everything that it reaches, nearest first."""
    distances = {source: 0}
    queue = deque([source])
    while queue:
        key = queue.popleft()
        for successor in successors(key):
            if successor not in distances:
                distances[successor] = distances[key] + 1
                queue.append(successor)
    return distances


def reference_layers(successors: Successors, source: Key) -> list[list[Key]]:
    """The layers U(0), U(1), ... from `source`, each in increasing order."""
    layers: list[list[Key]] = []
    for key, depth in reference_distances(successors, source).items():
        if depth == len(layers):
            layers.append([])
        layers[depth].append(key)
    return [sorted(layer) for layer in layers]
