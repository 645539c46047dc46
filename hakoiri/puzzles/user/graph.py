"""Graphs given by a function: states of any kind, their keys made from their texts, all in plain Python.

Equal states have equal keys in every process. A process that is given a key looks for its state breadth first from the
start, and keeps all states that it meets. Where the source of the function is not known, the whole graph is kept as a
table of texts.
"""

import json
import re
from collections import deque
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np

from hakoiri.errors import ConfigurationError, PuzzleError, remark
from hakoiri.keys.layout import U128, Key, Keys, Mask, ints
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.user.forms import expression, text_of
from hakoiri.puzzles.user.reopening import reopened
from hakoiri.puzzles.user.sources import NoSourceError, definition, written
from hakoiri.puzzles.user.states import Moves, Walk, after, digest_of, is_goal, key_of

#: The most states of a graph that is kept as a table.
_MOST_KEPT = 250_000
_FILE = '''
from hakoiri.puzzles.user import graph as _graph


class Graph(_graph.{kind}):
    """All states that {moves} leads to from the start."""

    name, undirected, most_successors = {name!r}, {undirected}, {most}
'''


class StateGraph(Puzzle):
    """A graph of states: `first` is the start, `moves` the function."""

    layout, remembers = U128, True
    first: ClassVar[Hashable]
    moves: ClassVar[Any]
    _text: ClassVar[Any] = staticmethod(text_of)
    _states: ClassVar[dict[Key, Any]]
    _queue: ClassVar[deque[Key]]
    #: The keys after those that were met before the run.
    _following: ClassVar[dict[Key, tuple[Key, ...]]]

    def __init_subclass__(cls) -> None:
        # Not under guard, which shares what its base has met.
        if "first" in vars(cls):
            cls._states, cls._queue, cls._following = {}, deque(), {}

    def usual_start(self) -> Key:
        key = digest_of(self._text(self.first))
        if key not in self._states:
            self._states[key] = self.first
            self._queue.append(key)
        return key

    def successors(self, key: Key) -> list[Key]:
        if key in self._following:
            return list(self._following[key])
        found = {key_of(state): state for state in after(self.moves, self._state(key))}
        for other, state in found.items():
            if other not in self._states:
                self._states[other] = state
                self._queue.append(other)
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
        return str(self._text(self._state(key)))

    def parse_text(self, text: str) -> Key:
        for spelling in (text, re.sub(r",\s*", ", ", text)):
            with suppress(ConfigurationError):
                self._state(key := digest_of(spelling))
                return key
        raise ConfigurationError(f"the start does not lead to {text!r}")


class GoalGraph(StateGraph):
    """A graph of states with a `goal`."""

    goal: ClassVar[Any]

    def is_goal(self, keys: Keys) -> Mask:
        return np.array([is_goal(self.goal, self._state(key)) for key in ints(keys)], dtype=np.bool_)


class TableGraph(StateGraph):
    """A graph whose states are texts. `table` is JSON: the texts, the places after each or ``null``, those of goals."""

    remembers = False
    table: ClassVar[str]
    _text = staticmethod(str)

    def __init_subclass__(cls) -> None:
        if "table" not in vars(cls):
            return
        texts, places, goals = json.loads(cls.table)
        keys = [*map(digest_of, texts)]
        cls.first, cls._queue, cls._states = texts[0], deque(), dict(zip(keys, texts, strict=True))
        after_each = zip(keys, places, strict=True)
        cls._following = {key: tuple(keys[place] for place in found) for key, found in after_each if found is not None}
        cls.goal = frozenset(texts[place] for place in goals).__contains__  # type: ignore[attr-defined]

    @staticmethod
    def moves(state: str) -> list[Hashable]:
        raise PuzzleError(f"the moves from {state} were not kept: it is in the last layer of a graph kept as a table")


class GoalTable(TableGraph, GoalGraph):
    """A table with goals."""


def graph_word(
    start: Hashable,
    moves: Moves,
    goal: Callable[[Any], bool] | None,
    layers: int | None,
    most: int | None,
    until_goal: bool,
) -> tuple[str, Walk | None]:
    """Return FILE.py:Graph of a file that is written here, and what was met of its graph; ``None`` for a table.

    Raises `PuzzleError` if the functions are wrong, if there are too many states, or too many for a table where the
    source of the functions is not known.
    """
    functions = [each for each in (moves, goal) if each is not None]
    # Before the functions are called: they may change what they use.
    reason, source = "", None
    try:
        source = definition(functions, expression(start))
    except NoSourceError as error:
        reason = str(error)
    walk = _met(start, moves, layers, most, goal if until_goal else None)
    following, whole = walk.following, layers is most is None and not (goal and until_goal)
    undirected = whole and all(key in following[other] for key, found in following.items() for other in found)
    names = [getattr(each, "__qualname__", type(each).__name__) for each in functions]
    name = re.sub(r"[^a-z0-9]+", "-", names[0].lower())[-40:].strip("-") or "graph"
    facts = {"name": name, "moves": names[0], "undirected": undirected}
    if source is not None:
        file, text, modules = source
        text += _FILE.format(kind="StateGraph" if goal is None else "GoalGraph", most=walk.most, **facts)
        text += f"    first = {expression(start)}\n    moves = staticmethod({names[0]})\n"
        text += "" if goal is None else f"    goal = staticmethod({names[1]})\n"
        path = written(file, text, modules)
        if not (reason := reopened(path, walk)):
            return f"{path}:Graph", walk
    if len(walk.states) > _MOST_KEPT:
        raise PuzzleError(f"{reason}; only graphs of up to {_MOST_KEPT:,} states run without it")
    remark(
        f"{reason}. The graph of {len(walk.states):,} states is kept as a table: its run can be asked, but not resumed "
        "or verified elsewhere by the function",
        calls=4,
    )
    # `verify` looks as far beyond the last layer of the run.
    for _ in range(2):
        if walk.layers[-1]:
            walk.step()
    text = _FILE.format(kind="TableGraph" if goal is None else "GoalTable", most=walk.most, **facts)
    return f"{written(f'{name}.py', f'{text}    table = {_table(walk, goal)!r}{chr(10)}', {})}:Graph", None


def _table(walk: Walk, goal: Callable[[Any], bool] | None) -> str:
    places = {key: place for place, key in enumerate(walk.states)}
    moves = [walk.following.get(key) for key in walk.states]
    found = [None if each is None else [places[key] for key in each] for each in moves]
    goals = [places[key] for key, state in walk.states.items() if goal and is_goal(goal, state)]
    return json.dumps([[*map(text_of, walk.states.values())], found, goals], separators=(",", ":"))


def share(kind: Any, start: Hashable, walk: Walk) -> None:
    """Let the class of the written file know what was met, if its states are of the same classes."""
    # Otherwise states are of a class that the file defines anew: its functions make their own.
    if kind.first == start:
        kind._states.update(walk.states)
        kind._following.update(walk.following)


def _met(
    start: Hashable, moves: Moves, layers: int | None, most: int | None, goal: Callable[[Any], bool] | None
) -> Walk:  # fmt: skip
    """Return the states met within some layers, up to the layer with `most` states or the first with a `goal`."""
    walk = Walk(start, moves)
    while (
        (layer := walk.layers[-1])
        and (layers is None or len(walk.layers) <= layers)
        and (most is None or len(walk.states) < most)
        and not (goal and any(is_goal(goal, walk.states[key]) for key in layer))
    ):
        walk.step()
    return walk
