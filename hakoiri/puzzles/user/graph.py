"""Graphs given by a function: states of any kind, their keys made from their texts, all in plain Python.

The key of a state is a BLAKE2b digest of its text in 128 bits, so equal states have equal keys in every process. A
process that is given a key looks for its state breadth first from the start, and keeps all states that it meets.
"""

import hashlib
import re
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hakoiri.errors import ConfigurationError, Hint, PuzzleError
from hakoiri.keys.layout import U128, Key, Keys, Mask, as_line, ints
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.user.sources import definition, written

#: The most states that are looked at before a run.
_MOST = 2_000_000
_KEY_BYTES = 16
_FILE = '''
from hakoiri.puzzles.user import graph as _graph


class Graph(_graph.{kind}):
    """All states that {moves} leads to from the start."""

    name, undirected, most_successors = {name!r}, {undirected}, {most}
    first = {start}
    moves = staticmethod({moves})
'''
Moves = Callable[[Any], Iterable[Hashable]]


class StateGraph(Puzzle):
    """A graph of states: `first` is the start, `moves` the function."""

    layout = U128
    first: ClassVar[Hashable]
    moves: ClassVar[Any]
    _states: ClassVar[dict[Key, Any]]
    _queue: ClassVar[deque[Key]]
    #: The keys after those that were met before the run.
    _following: ClassVar[dict[Key, tuple[Key, ...]]]

    def __init_subclass__(cls) -> None:
        # Not under guard, which shares what its base has met.
        if "first" in vars(cls):
            cls._states, cls._queue, cls._following = {}, deque(), {}

    def usual_start(self) -> Key:
        key = key_of(self.first)
        if key not in self._states:
            self._states[key] = self.first
            self._queue.append(key)
        return key

    def successors(self, key: Key) -> list[Key]:
        if key in self._following:
            return list(self._following[key])
        found = {key_of(state): state for state in self.moves(self._state(key))}
        for after, state in found.items():
            if after not in self._states:
                self._states[after] = state
                self._queue.append(after)
        return list(found)

    def _state(self, key: Key) -> Any:
        """Return the state of a key, looked for from the start on."""
        self.usual_start()
        while key not in self._states and self._queue:
            StateGraph.successors(self, self._queue.popleft())
        if key not in self._states:
            raise ConfigurationError(f"{key:#x} is not the key of a state that the start leads to")
        return self._states[key]

    def render(self, key: Key) -> str:
        return text_of(self._state(key))

    def parse_text(self, text: str) -> Key:
        for spelling in (text, re.sub(r",\s*", ", ", text)):
            with suppress(ConfigurationError):
                self._state(key := _digest(spelling))
                return key
        raise ConfigurationError(f"the start does not lead to {text!r}")


class GoalGraph(StateGraph):
    """A graph of states with a `goal`."""

    goal: ClassVar[Any]

    def is_goal(self, keys: Keys) -> Mask:
        return np.array([bool(self.goal(self._state(key))) for key in ints(keys)], dtype=np.bool_)


def text_of(state: Any) -> str:
    """Return the text of a state: a text itself, others as Python writes them, sets in order."""
    if isinstance(state, str) and state == as_line(state) and state.isprintable() and state[:2].lower() != "0x":
        return state
    return _inner_text(state)


def _inner_text(state: Any) -> str:
    if type(state) is tuple:
        return f"({', '.join(map(_inner_text, state))}{',' if len(state) == 1 else ''})"
    if isinstance(state, frozenset):
        return f"{{{', '.join(sorted(map(_inner_text, state)))}}}"
    if isinstance(state, bool) or (isinstance(state, float) and state.is_integer()):
        # Equal to a whole number.
        return repr(int(state))
    text = " ".join(repr(state).split())
    if re.search(r" at 0x[0-9a-f]+>", text):
        raise PuzzleError(f"a state is {text}; expected values whose repr shows them, such as tuples or dataclasses")
    return text


def key_of(state: Any) -> Key:
    """Return the key of a state."""
    return _digest(text_of(state))


def _digest(text: str) -> Key:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=_KEY_BYTES).digest(), "big")


class Met(NamedTuple):
    """States by their keys, and for each that was left the keys after it."""

    states: dict[Key, Any]
    following: dict[Key, tuple[Key, ...]]


def graph_word(
    start: Hashable, moves: Moves, goal: Callable[[Any], bool] | None, layers: int | None, until_goal: bool
) -> tuple[str, Met]:
    """Return FILE.py:Graph of a file that is written here, and the states of its graph that the run needs.

    Raises `PuzzleError` if the source of the functions is not known, or if there are too many states.
    """
    key_of(start)  # Refuses values without a text.
    functions = [each for each in (moves, goal) if each is not None]
    file, text = definition(functions, repr(start))
    met = _met(start, moves, layers, goal if until_goal else None)
    following, whole = met.following, layers is None and not (goal and until_goal)
    undirected = whole and all(key in following[after] for key, found in following.items() for after in found)
    names = [each.__qualname__ for each in functions]
    name = re.sub(r"[^a-z0-9]+", "-", names[0].lower()).strip("-")[:40] or "graph"
    text += _FILE.format(
        kind="StateGraph" if goal is None else "GoalGraph", moves=names[0], name=name, undirected=undirected,
        most=max([1, *map(len, following.values())]), start=repr(start),
    )  # fmt: skip
    text += "" if goal is None else f"    goal = staticmethod({names[1]})\n"
    return f"{written(file, text)}:Graph", met


def share(kind: Any, start: Hashable, met: Met) -> None:
    """Let the class of the written file know what was met; `PuzzleError` if its start is another one."""
    if key_of(kind.first) != key_of(start):
        raise PuzzleError(f"{start!r} cannot be written as Python; its repr must be an expression for it")
    # Otherwise states are of a class that the file defines anew: its functions make their own.
    if kind.first == start:
        kind._states.update(met.states)
        kind._following.update(met.following)


def _met(start: Hashable, moves: Moves, layers: int | None, goal: Callable[[Any], bool] | None) -> Met:
    """Return the states met within some layers, or up to the first layer with a `goal`, and the successor keys."""
    first = key_of(start)
    states: dict[Key, Any] = {first: start}
    following: dict[Key, tuple[Key, ...]] = {}
    layer, depth = [first], 0
    while layer and (layers is None or depth < layers) and not (goal and any(goal(states[key]) for key in layer)):
        after = list[Key]()
        for key in layer:
            found = dict[Key, None]()
            for state in moves(states[key]):
                found[other := key_of(state)] = None
                if other not in states:
                    states[other] = state
                    after.append(other)
                elif states[other] != state:
                    raise PuzzleError(f"the states {states[other]!r} and {state!r} have the same text")
            following[key] = tuple(found)
            if len(states) > _MOST:
                raise PuzzleError(f"there are more than {_MOST:,} states", Hint("give", "layers"))
        layer, depth = after, depth + 1
    return Met(states, following)
