"""States that a function leads to, met layer by layer: which are the same, and what is wrong with the function.

Python decides which states are the same, by their hash and ``==``; a state's key is a digest of its text
(`puzzles.user.forms`). Both are compared for all states, so that another process, which has only the keys, finds the
same graph. Imports no numpy: a new process checks with it that a graph can be opened again (`puzzles.user.reopening`).
"""

import hashlib
import inspect
from collections.abc import Callable, Hashable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any, Never

from hakoiri.errors import NO_FAULT, Hint, PuzzleError
from hakoiri.puzzles.user.forms import is_plain, text_of
from hakoiri.puzzles.user.watch import watch

Key = int
Moves = Callable[[Any], Iterable[Hashable]]
#: The most states that are met before a run, and the most after one state, as counts of successors hold.
_MOST, _MOST_MOVES = 2_000_000, 65_535
_KEY_BYTES, _SHOWN = 16, 60


def key_of(state: Any) -> Key:
    """Return the key of a state: a BLAKE2b digest of its text in 128 bits."""
    return digest_of(text_of(state))


def digest_of(text: str) -> Key:
    """Return the key of the state with this text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=_KEY_BYTES).digest(), "big")


def after(moves: Moves, state: Any) -> list[Any]:
    """Return the states that a user's function gives for one; `PuzzleError` if it fails or gives something else."""

    def listed(found: Any) -> list[Any]:
        if isinstance(found, str | bytes) or not isinstance(found, Iterable):
            expected = "expected the states after one move, as a list or by yield"
            _refuse(moves, state, f"returned {_short(found)}; {expected}")
        return list(islice(found, _MOST_MOVES + 1))

    states: list[Any] = _called(moves, state, listed)
    if len(states) > _MOST_MOVES:
        _refuse(moves, state, f"gives more than {_MOST_MOVES:,} states")
    return states


def is_goal(goal: Callable[[Any], Any], state: Any) -> bool:
    """Return what a user's function says of a state; `PuzzleError` if it fails or returns nothing."""
    truth: bool | None = _called(goal, state, lambda found: None if found is None else bool(found))
    if truth is None:
        _refuse(goal, state, "returned None; expected True or False")
    return truth


def _called(function: Callable[[Any], Any], state: Any, take: Callable[[Any], Any]) -> Any:
    """Return what `take` makes of what a user's function gives for a state."""
    try:
        return take(function(state))
    except NO_FAULT:
        raise
    except BaseException as error:
        _blame(function, state, error)


def _code(function: Any) -> Any:
    return getattr(inspect.unwrap(function), "__code__", None)


def _blame(function: Any, state: Any, error: BaseException) -> Never:
    from hakoiri.puzzles.conformance.pool import error_line

    said = error_line(error, getattr(_code(function), "co_filename", ""))
    raise PuzzleError(f"{_call(function, state)} failed: {said}") from error


def _refuse(function: Any, state: Any, said: str) -> Never:
    raise PuzzleError(f"{_call(function, state)} {said}")


def _call(function: Any, state: Any) -> str:
    """Return a call of a user's function in words, with the file and line of the function."""
    where = f"{Path(code.co_filename).name}, line {code.co_firstlineno}: " if (code := _code(function)) else ""
    return f"{where}{getattr(function, '__name__', type(function).__name__)}({_short(state)})"


def _short(state: Any) -> str:
    text = " ".join(repr(state).split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


class Walk:
    """The states met so far from a start: by layers, by their keys, and for each expanded one the keys after it."""

    def __init__(self, start: Hashable, moves: Moves) -> None:
        self._moves = moves
        watch(getattr(_code(moves), "co_filename", ""))
        self.states: dict[Key, Any] = {}
        self.following: dict[Key, tuple[Key, ...]] = {}
        self.layers: list[list[Key]] = [[]]
        self._known: dict[Any, Key] = {}
        #: The keys of states that are not plain: states found to be equal to one of them are checked.
        self._odd: set[Key] = set()
        try:
            self._key(start, self._known.get(start), [])
        except TypeError as error:
            raise PuzzleError(f"the start {_short(start)} cannot be a state: {error}") from error
        self.layers = [[*self.states]]

    @property
    def most(self) -> int:
        """The greatest number of different states after one, at least 1."""
        return max([1, *map(len, self.following.values())])

    def step(self) -> list[Key]:
        """Expand the last layer; return the keys of the next one. Raises `PuzzleError`."""
        layer, new = self.layers[-1], list[Key]()
        known, states = self._known, self.states
        for key in layer:
            found = after(self._moves, states[key])
            keys = dict[Key, None]()
            try:
                # A state is looked up after those before it were added.
                for state, equal in zip(found, map(known.get, found), strict=True):
                    if equal is None or equal in self._odd or not is_plain(state):
                        keys[self._key(state, equal, new)] = None
                    else:
                        keys[equal] = None
            except NO_FAULT as error:
                if isinstance(error, PuzzleError):
                    error.args = (f"{_call(self._moves, states[key])}: {error}",)
                raise
            except BaseException as error:
                self._blame_state(states[key], found, error)
            self.following[key] = tuple(keys)
            if len(states) > _MOST:
                raise PuzzleError(f"there are more than {_MOST:,} states", Hint("give", "layers"))
        if len(self.layers) == 1:
            self._require_same(layer[0])
        self.layers.append(new)
        return new

    def _key(self, state: Any, known: Key | None, new: list[Key]) -> Key:
        """Return the key of a state, whose equal has the key `known`; add it to the `new` ones if it has none."""
        key = key_of(state)
        if key != known and (known is not None or key in self.states):
            other = self.states[key if known is None else known]
            said = "are not equal, but have the same text" if known is None else "are equal, but have different texts"
            said += f", {text_of(other)}" if known is None else f", {text_of(other)} and {text_of(state)}"
            raise PuzzleError(f"the states {_short(other)} and {_short(state)} {said}")
        if known is None:
            self.states[key] = state
            self._known[state] = key
            new.append(key)
            if not is_plain(state):
                self._odd.add(key)
        return key

    def _require_same(self, key: Key) -> None:
        again = {key_of(state) for state in after(self._moves, self.states[key])}
        if again != {*self.following[key]}:
            _refuse(self._moves, self.states[key], "gives other states when it is called again; expected the same ones")

    def _blame_state(self, before: Any, found: list[Any], error: BaseException) -> Never:
        """Raise the error for a state that cannot be hashed, or compared with others."""
        for state in found:
            try:
                hash(state)
            except TypeError:
                kind = type(state).__name__
                said = f"gives the {kind} {_short(state)}, which cannot be a state: it has no hash; make it a tuple"
                raise PuzzleError(f"{_call(self._moves, before)} {said}") from error
        _blame(self._moves, before, error)
