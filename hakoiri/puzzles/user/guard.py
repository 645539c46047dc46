"""A user puzzle under guard: errors in its rules are reported in one line, with the configuration.

Every error of a guarded puzzle's methods becomes a `PuzzleError` that names the configuration, the file and the line.
Their results are checked before use. The guard costs a microsecond a call and three passes over the counts of a batch.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from operator import index
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hakoiri.errors import NO_FAULT, ConfigurationError, MisreadError, PuzzleError
from hakoiri.keys.layout import Key, Keys, Layout, ints, key_at
from hakoiri.puzzles.conformance.pool import check_expansion, describe_key, error_line, kind_of, named_with, too_many
from hakoiri.puzzles.contract import Expansion, Puzzle
from hakoiri.puzzles.pictures import Part, Picture, Shape

_NEEDED = ("layout", "undirected", "most_successors")
#: Methods that are often written for one key.
_ARRAYS = ("is_goal", "are_keys")


def guarded(plain: type[Puzzle], file: str) -> type[Puzzle]:
    """The class `plain` of a user's `file`, under guard; named as before."""
    # A method that a class does not override must still look absent.
    chosen = {
        name: method
        for name, method in _GUARDED.items()
        for kind in plain.__mro__
        if kind.__module__.startswith("hakoiri.") and hasattr(kind, name)
        if getattr(plain, name) is not getattr(kind, name)
    }
    about = {"__module__": plain.__module__, "__doc__": plain.__doc__, "guarded_file": file}
    made: type[Puzzle] = type(plain.__name__, (_Guard, plain), chosen | about)
    return made


class _Guard(Puzzle):
    """Mixed in before a user's class, together with the methods of `_GUARDED`."""

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
            method = "usual_start" if start is None else "parse_text"
            self.start = self._checked_key(self.start, f"{method} returned", method)
        self.check_key(self.start)

    def successors(self, key: Key) -> list[Key]:
        with self._naming("successors", key):
            given: Any = super().successors(key)  # type: ignore[safe-super]
            if isinstance(given, str | bytes) or not isinstance(given, Iterable):
                self._fitting(False, "successors", given, "the keys after one move, as a list or by yield")
            found = list(given)
        greatest = self.layout.greatest
        for place, successor in enumerate(found):
            if type(successor) is not int or not 0 <= successor <= greatest:
                what = f"one of the successors of {describe_key(self, key)} is"
                found[place] = self._checked_key(successor, what, "successors")
        if len(found) > self.most_successors:
            raise too_many(self, key, len(found))
        return found

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

    def _blame(self, what: str, keys: Sequence[Key], error: BaseException) -> PuzzleError:
        about = f" of {' to '.join(describe_key(self, key) for key in keys)}" if keys else ""
        said = "; it is given an array of keys" if what in _ARRAYS else ""
        return PuzzleError(f"{self._here}: {what}{about} failed: {error_line(error, self.guarded_file)}{said}")

    def _fitting(self, fits: bool, name: str, found: Any, expected: str) -> Any:
        """Return what the method `name` has `found`, if it `fits`; else raise `PuzzleError`."""
        if not fits:
            said = " (it is given an array of keys)" if name in _ARRAYS else ""
            about = named_with(self, name.partition(" ")[0])
            raise PuzzleError(f"{about}: {name} returned {kind_of(found)}; expected {expected}{said}")
        return found

    def _checked_key(self, value: Any, what: str, method: str) -> Key:
        """`value` as a key of this puzzle's layout; else a `PuzzleError` that says what it is instead."""
        try:
            key = index(value)
        except TypeError:
            raise PuzzleError(f"{named_with(self, method)}: {what} {kind_of(value)}; expected a whole number") from None
        if not 0 <= key <= self.layout.greatest:
            raise PuzzleError(
                f"{named_with(self, method)}: {what} {key:#x}, which is out of range; layout {self.layout.name} "
                f"holds 0 to {self.layout.greatest:#x}"
            )
        return key

    def _check_attributes(self) -> None:
        missing = [name for name in _NEEDED if not hasattr(self, name)]
        if missing:
            raise PuzzleError(f"{self._here} does not define: {', '.join(missing)} (see help(hakoiri.Puzzle))")
        if not isinstance(self.layout, Layout):
            raise PuzzleError(f"{self._here}: layout is {kind_of(self.layout)}; expected U32, U64, U128 or U256")
        most: Any = self.most_successors
        if not isinstance(most, int) or most < 0 or most > np.iinfo(np.uint16).max:
            raise PuzzleError(f"{self._here}: most_successors is {most!r}; expected a whole number from 0 to 65535")
        numbers: Any = self.numbers
        if numbers is not None and not (type(numbers) is int and 0 < numbers <= self.layout.greatest + 1):
            text = f"{self._here}: numbers is {numbers!r}; expected a whole number up to {self.layout.greatest + 1:,}"
            raise PuzzleError(text)


def _expand(self: _Guard, keys: Keys) -> Expansion:
    """Expand a batch; an error names the first configuration that fails, found by halving the batch."""
    plain, whole = super(_Guard, self).expand, len(keys)
    try:
        expansion = plain(keys)
    except NO_FAULT:
        raise
    except BaseException as first:
        error = first
        while len(keys) > 1:
            for half in (keys[: len(keys) // 2], keys[len(keys) // 2 :]):
                try:
                    plain(half)
                except NO_FAULT:
                    raise
                except BaseException as found:
                    keys, error = half, found
                    break
            else:
                at_once = f"expand of {whole} configurations at once, the first"
                raise self._blame(at_once, (key_at(keys, 0),), error) from first
        raise self._blame("expand", ints(keys), error) from first
    check_expansion(self, keys, expansion)
    return Expansion(*expansion)


def _parse_text(self: _Guard, text: str) -> Key:
    try:
        key = super(_Guard, self).parse_text(text)
    except NO_FAULT:
        raise
    except BaseException as error:
        said = error_line(error, self.guarded_file)
        raise ConfigurationError(f"{text!r} is not a configuration of {self.name}: {said}") from error
    key = self._checked_key(key, f"parse_text of {text!r} returned", "parse_text")
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
        yield self._fitting(self.layout.holds(block), "configurations", block, f"layout {self.layout.name}")


def _maps(name: str, of_one: str) -> Callable[[_Guard], list[Callable[[Keys], Keys]]]:
    def maps(self: _Guard) -> list[Callable[[Keys], Keys]]:
        def image(symmetry: Callable[[Keys], Keys], keys: Keys) -> Any:
            with self._naming(of_one, *ints(keys[:1])):
                found: Any = symmetry(keys)
            fits = isinstance(found, np.ndarray) and found.shape == keys.shape and found.dtype == keys.dtype
            return self._fitting(fits, of_one, found, kind_of(keys))

        with self._naming(name):
            return [partial(image, symmetry) for symmetry in getattr(super(_Guard, self), name)()]

    return maps


def _pictures(self: _Guard, path: list[Key]) -> list[Picture]:
    with self._naming("pictures", *path[:2]):
        found = list(super(_Guard, self).pictures(path))
    fits = len(found) == len(path) and all(isinstance(each, Picture) for each in found)
    self._fitting(fits, "pictures", found, f"a picture of each of {len(path)} configurations")
    for part in (part for picture in found for part in picture.parts):
        fits = isinstance(part, Part) and all(isinstance(shape, Shape) for shape in part.shapes)
        self._fitting(fits, "pictures", part, "a Part made of shapes")
    return found


def _row(found: Any, keys: Keys, dtype: Any = None) -> bool:
    return isinstance(found, np.ndarray) and found.shape == (len(keys),) and dtype in (None, found.dtype)


#: By method, whether a result fits what was given, and what is expected instead, of so many keys of a layout.
_EXPECTED: dict[str, tuple[Callable[[Layout, Any, Any], bool], str]] = {
    "is_goal": (lambda _, found, keys: _row(found, keys, np.bool_), "bool of shape ({count},)"),
    "are_keys": (lambda _, found, keys: _row(found, keys, np.bool_), "bool of shape ({count},)"),
    "orbits": (lambda _, found, keys: found is None or _row(found, keys), "None or shape ({count},)"),
    "orbit_sizes": (lambda _, found, keys: found is None or _row(found, keys), "None or shape ({count},)"),
    "canonical": (
        lambda layout, found, keys: layout.holds(found) and len(found) == len(keys),
        "{count} keys of layout {layout.name}",
    ),
    "render": (lambda _, found, key: isinstance(found, str), "str"),
}  # fmt: skip


def _plainly(name: str, made: Callable[[Any], Any] | None = None) -> Any:
    """A method that does what the user's does, names what goes wrong in it, and checks its result as it is `made`."""

    def method(self: _Guard, *given: Any) -> Any:
        if name in ("render", "check_key"):
            # Not as configurations of `_naming`, which renders them: that is what fails.
            about, keys = f"{name} of {given[0]:#x}", []
        else:
            first = [ints(each[:1]) if isinstance(each, np.ndarray) else each for each in given]
            about, keys = name, [key for each in first for key in (each[:2] if isinstance(each, list) else [each])]
        with self._naming(about, *(key for key in keys if isinstance(key, int))):
            found = getattr(super(_Guard, self), name)(*given)
            found = found if made is None else made(found)
        if name in _EXPECTED:
            fits, expected = _EXPECTED[name]
            count = len(given[0]) if isinstance(given[0], np.ndarray) else 1
            self._fitting(
                fits(self.layout, found, given[0]), about, found, expected.format(count=count, layout=self.layout)
            )
        return found

    return method


#: The guarded methods by name, besides `successors`.
_GUARDED: dict[str, Callable[..., Any]] = {
    "expand": _expand,
    "parse_text": _parse_text,
    "configurations": _configurations,
    "symmetry_maps": _maps("symmetry_maps", "a symmetry map"),
    "mirrors": _maps("mirrors", "a mirror"),
    "pictures": _pictures,
    "describe_move": _plainly("describe_move", str),
} | {
    name: _plainly(name)
    for name in (
        *_EXPECTED, "usual_start", "check_key", "score", "reserve", "scored", "reserves", "random_deal", "varied",
        "grown",
    )
}  # fmt: skip
