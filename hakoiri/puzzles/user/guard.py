"""A user puzzle under guard: errors in its rules are reported in one line, with the configuration.

Every error of a guarded puzzle's methods becomes a `PuzzleError` that names the configuration, the file and the line.
Their results are checked before use. The guard costs a microsecond a call and three passes over the counts of a batch.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from operator import index
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hakoiri.errors import NO_FAULT, ConfigurationError, MisreadError, PuzzleError
from hakoiri.keys.layout import Key, Keys, Layout, Mask, ints, key_at
from hakoiri.puzzles.capabilities import Dealt, Scored
from hakoiri.puzzles.conformance.pool import check_expansion, describe_key, error_line, kind_of, too_many
from hakoiri.puzzles.contract import Expansion, Orbits, Puzzle
from hakoiri.puzzles.pictures import Part, Picture, Shape

_NEEDED = ("layout", "undirected", "most_successors")


def guarded(plain: type[Puzzle], file: str) -> type[Puzzle]:
    """The class `plain` of a user's `file`, under guard; named as before."""
    chosen = {name: method for name, method in _IF_OVERRIDDEN.items() if getattr(plain, name) is not _BASE[name]}
    chosen |= {name: _named(name) for kind, names in _ABLE.items() if issubclass(plain, kind) for name in names}
    about = {"__module__": plain.__module__, "__doc__": plain.__doc__, "guarded_file": file}
    own = {"has_kernel": plain.expand is not Puzzle.expand}
    if plain.has_goal is Puzzle.has_goal:
        own["has_goal"] = plain.is_goal is not Puzzle.is_goal
    made: type[Puzzle] = type(plain.__name__, (_Guard, plain), chosen | about | own)
    return made


class _Guard(Puzzle):
    """Mixed in before a user's class: each method calls the user's, and names what goes wrong."""

    guarded_file: ClassVar[str]

    def __init__(self, options: Mapping[str, str] | None = None, start: str | None = None) -> None:
        try:
            super().__init__(options, start)
        except NO_FAULT:
            raise
        except BaseException as error:
            self._check_attributes()
            raise PuzzleError(f"{self._here}: __init__ failed: {error_line(error, self.guarded_file)}") from error
        self._check_attributes()
        with self._naming("the start"):
            self._start = self._checked_key(
                self._start, "usual_start returned" if start is None else "parse_text returned"
            )
        self.check_key(self._start)

    def usual_start(self) -> Key:
        with self._naming("usual_start"):
            return super().usual_start()  # type: ignore[safe-super]

    def successors(self, key: Key) -> list[Key]:
        with self._naming("successors", key):
            found = list(super().successors(key))  # type: ignore[safe-super]
        greatest = self.layout.greatest
        for place, successor in enumerate(found):
            if type(successor) is not int or not 0 <= successor <= greatest:
                found[place] = self._checked_key(successor, f"one of the successors of {describe_key(self, key)} is")
        if len(found) > self.most_successors:
            raise too_many(self, key, len(found))
        return found

    def expand(self, keys: Keys) -> Expansion:
        try:
            expansion = super().expand(keys)
        except NO_FAULT:
            raise
        except BaseException as error:
            raise self._first_to_blame(keys, error) from error
        check_expansion(self, keys, expansion)
        return Expansion(*expansion)

    def is_goal(self, keys: Keys) -> Mask:
        return self._masked("is_goal", super().is_goal, keys)

    def are_keys(self, keys: Keys) -> Mask:
        return self._masked("are_keys", super().are_keys, keys)

    def _masked(self, name: str, method: Callable[[Keys], Mask], keys: Keys) -> Mask:
        with self._naming(name, *ints(keys[:1])):
            found = method(keys)
        if not isinstance(found, np.ndarray) or found.dtype != np.bool_ or found.shape != (len(keys),):
            raise PuzzleError(f"{self._here}: {name} returned {kind_of(found)}, expected bool of shape ({len(keys)},)")
        return found

    def orbits(self, keys: Keys) -> Orbits | None:
        with self._naming("orbits", *ints(keys[:1])):
            found = super().orbits(keys)
        if found is not None and (not isinstance(found, np.ndarray) or found.shape != (len(keys),)):
            raise PuzzleError(f"{self._here}: orbits returned {kind_of(found)} for {len(keys)} configurations")
        return found

    def symmetry_maps(self) -> Sequence[Callable[[Keys], Keys]]:
        with self._naming("symmetry_maps"):
            return [partial(self._image, symmetry) for symmetry in super().symmetry_maps()]

    def _image(self, symmetry: Callable[[Keys], Keys], keys: Keys) -> Keys:
        with self._naming("a symmetry map", *ints(keys[:1])):
            found = symmetry(keys)
        if not isinstance(found, np.ndarray) or found.shape != keys.shape or found.dtype != keys.dtype:
            raise PuzzleError(f"{self._here}: a symmetry map returned {kind_of(found)} for {len(keys)} configurations")
        return found

    def render(self, key: Key) -> str:
        # Not as a configuration of `_naming`: rendering it is what fails.
        with self._naming(f"render of {key:#x}"):
            text: Any = super().render(key)
        if not isinstance(text, str):
            raise PuzzleError(f"{self._here}: render returned {kind_of(text)} for {key:#x}, expected str")
        return text

    def describe_move(self, before: Key, after: Key) -> str:
        with self._naming("describe_move", before, after):
            return str(super().describe_move(before, after))

    def check_key(self, key: Key) -> None:
        with self._naming(f"check_key of {key:#x}"):
            super().check_key(key)

    @property
    def _here(self) -> str:
        return f"{self.name} of {Path(self.guarded_file).name}"

    @contextmanager
    def _naming(self, what: str, *keys: Key) -> Iterator[None]:
        """Turn what the block raises, unless it is one of our errors, into a `PuzzleError` that names `keys`."""
        try:
            yield
        except NO_FAULT:
            raise
        except BaseException as error:
            raise self._blame(what, keys, error) from error

    def _blame(self, what: str, keys: tuple[Key, ...], error: BaseException) -> PuzzleError:
        about = f" of {' to '.join(describe_key(self, key) for key in keys)}" if keys else ""
        return PuzzleError(f"{self._here}: {what}{about} failed: {error_line(error, self.guarded_file)}")

    def _first_to_blame(self, keys: Keys, error: BaseException) -> PuzzleError:
        """The error of the first configuration that `expand` fails with, found by halving the batch."""
        whole = len(keys)
        while len(keys) > 1:
            middle = len(keys) // 2
            for half in (keys[:middle], keys[middle:]):
                if (found := self._failure(half)) is not None:
                    keys, error = half, found
                    break
            else:
                return self._blame(f"expand of {whole} configurations at once, the first", (key_at(keys, 0),), error)
        return self._blame("expand", tuple(ints(keys)), error)

    def _failure(self, keys: Keys) -> BaseException | None:
        try:
            super().expand(keys)
        except NO_FAULT:
            raise
        except BaseException as error:
            return error
        return None

    def _checked_key(self, value: Any, what: str) -> Key:
        """`value` as a key of this puzzle's layout; else a `PuzzleError` that says what it is instead."""
        try:
            key = index(value)
        except TypeError:
            raise PuzzleError(f"{self._here}: {what} {kind_of(value)}; expected a whole number") from None
        if not 0 <= key <= self.layout.greatest:
            raise PuzzleError(
                f"{self._here}: {what} {key:#x}, which is out of range; layout {self.layout.name} "
                f"holds 0 to {self.layout.greatest:#x}"
            )
        return key

    def _check_attributes(self) -> None:
        missing = [name for name in _NEEDED if not hasattr(self, name)]
        if missing:
            raise PuzzleError(f"{self._here} does not define: {', '.join(missing)} (see docs/tutorial/own-puzzle.md)")
        if not isinstance(self.layout, Layout):
            raise PuzzleError(f"{self._here}: layout is {kind_of(self.layout)}; expected U32, U64, U128 or U256")
        most: Any = self.most_successors
        if not isinstance(most, int) or most < 0 or most > np.iinfo(np.uint16).max:
            raise PuzzleError(f"{self._here}: most_successors is {most!r}; expected a whole number from 0 to 65535")


# A method that a class does not override must still look absent, so these are added only to classes that have them.


def _parse_text(self: _Guard, text: str) -> Key:
    try:
        key = super(_Guard, self).parse_text(text)
    except NO_FAULT:
        raise
    except BaseException as error:
        said = error_line(error, self.guarded_file)
        raise ConfigurationError(f"{text!r} is not a configuration of {self.name}: {said}") from error
    key = self._checked_key(key, f"parse_text of {text!r} returned")
    if (written := self.render(key)) != f"{key:#x}" and not self.same_text(text, written):
        raise MisreadError(
            f"{text!r} is not a configuration of {self.name}: parse_text takes it for {written!r}; if both are right, "
            "override same_text"
        )
    return key


def _configurations(self: _Guard) -> Iterator[Keys]:
    with self._naming("configurations"):
        blocks = iter(super(_Guard, self).configurations())
    while True:
        with self._naming("configurations"):
            block = next(blocks, None)
        if block is None:
            return
        if not self.layout.holds(block):
            raise PuzzleError(
                f"{self._here}: configurations returned {kind_of(block)}; expected layout {self.layout.name}"
            )
        yield block


def _canonical(self: _Guard, keys: Keys) -> Keys:
    with self._naming("canonical", *ints(keys[:1])):
        found = super(_Guard, self).canonical(keys)
    if not self.layout.holds(found) or len(found) != len(keys):
        raise PuzzleError(f"{self._here}: canonical returned {kind_of(found)} for {kind_of(keys)}")
    return found


def _pictures(self: _Guard, path: list[Key]) -> list[Picture]:
    with self._naming("pictures", *path[:2]):
        found = list(super(_Guard, self).pictures(path))
    if len(found) != len(path) or not all(isinstance(each, Picture) for each in found):
        what = f"{kind_of(found)} for {len(path)} configurations, expected a picture of each"
        raise PuzzleError(f"{self._here}: pictures returned {what}")
    parts = [part for picture in found for part in picture.parts]
    if wrong := [
        part for part in parts if not isinstance(part, Part) or not all(isinstance(s, Shape) for s in part.shapes)
    ]:
        raise PuzzleError(f"{self._here}: pictures returned {kind_of(wrong[0])}, expected a Part made of shapes")
    return found


_IF_OVERRIDDEN: dict[str, Callable[..., Any]] = {
    "canonical": _canonical,
    "configurations": _configurations,
    "parse_text": _parse_text,
    "pictures": _pictures,
}
_BASE = {name: getattr(Puzzle, name) for name in _IF_OVERRIDDEN}
#: The further methods of a puzzle with some capability.
_ABLE: dict[type, tuple[str, ...]] = {
    Scored: ("score", "reserve", "scored", "reserves"),
    Dealt: ("random_deal", "varied", "grown"),
}


def _named(name: str) -> Callable[..., Any]:
    """A method that does what the user's does, and names what goes wrong in it."""

    def method(self: _Guard, *given: Any) -> Any:
        with self._naming(name, *(each for each in given if isinstance(each, int))):
            return getattr(super(_Guard, self), name)(*given)

    return method
