"""Algorithms: what a text of turns does to stickers.

A turn is clockwise; ``'`` is the other way round, and a number repeats a turn or a group: ``R U R' F2``, ``(R U)3``.
``[R, U]`` is the commutator ``R U R' U'``, ``[R: U]`` the conjugate ``R U R'``. Blanks may be left out between brackets
and turns with marks.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce

from hakoiri.errors import ConfigurationError

#: For each sticker the one whose colour it takes.
Turn = tuple[int, ...]


def turned_then(first: Turn, second: Turn) -> Turn:
    """The turn that is `first`, then `second`."""
    return tuple(first[sticker] for sticker in second)


@lru_cache(maxsize=8)
def _token(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return what matches a bracket or a turn with its marks; the longest of the `names`."""
    known = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.compile(rf"(?:([(\[,:])|({known}|[A-Za-z]w?|[)\]])([1-9][0-9]*)?('?))\s*")


_MARKS = frozenset("()[],:")
_MOST_DIGITS = 3
#: Signs of a wrong turn, and names of turns, in an error.
_SHOWN = 30
#: Characters that are written for ``'``: primes, accents, quotation marks.
_PRIMES = str.maketrans(dict.fromkeys("\u2019\u2018\u2032\u00b4\u02b9\uff07`", "'"))
_SLASH = re.compile("(?<!/)/(?!/)")
_CLOSING = {"(": ")", "[": "]"}
_GROUPS = "(R U)3, [R, U] or [R: U]"


def joined_turns(text: str) -> str:
    """Return an algorithm whose lines are joined by ``/`` as one line, with ``'`` for its primes; ``//`` stays."""
    return _SLASH.sub(" ", text).translate(_PRIMES)


@dataclass
class _Group:
    """An open bracket, and the turns `done` in it: with a comma or colon as `mark`, those after it; others `before`."""

    bracket: str
    done: Turn
    mark: str = ""
    before: Turn = ()


def read_algorithm(text: str, turns: Mapping[str, Turn], puzzle: str) -> Turn:
    """Return what an algorithm does; `turns` are the clockwise ones of the `puzzle` by name.

    `ConfigurationError` names the turn or bracket that is wrong.
    """
    unmoved = tuple(range(len(next(iter(turns.values())))))
    groups, number, at, text = [_Group("", unmoved)], 0, 0, text.strip()
    tokens, known_names = _token(tuple(turns)), {*turns, *_MARKS}
    while at < len(text):
        token = tokens.match(text, at)
        name = (token[1] or token[2]) if token else ""
        number += name not in _MARKS
        if not token or name not in known_names:
            word = (token[0].strip() if token else text[at:].split()[0])[:_SHOWN]
            known = ", ".join([*turns][:_SHOWN])
            raise ConfigurationError(
                f"turn {number}, {word!r}, is not a turn of {puzzle}; expected {known}, each alone or with 2 or '"
            )
        if len(token[3] or "") > _MOST_DIGITS:
            raise ConfigurationError(f"turn {number}, {token[0].strip()[:_SHOWN]!r}, is repeated more than 999 times")
        done = turns[name] if name in turns else _follow_bracket(name, groups, unmoved, number)
        turn, done, times = done, unmoved, int(token[3] or 1)
        # By squaring: groups of groups may repeat it millions of times.
        while times:
            done = turned_then(done, turn) if times % 2 else done
            turn, times = turned_then(turn, turn), times // 2
        groups[-1].done = turned_then(groups[-1].done, _undone(done) if token[4] else done)
        at = token.end()
    if len(groups) > 1:
        raise ConfigurationError(f"{groups[-1].bracket!r} is not closed; expected groups such as {_GROUPS}")
    return groups[0].done


def _follow_bracket(mark: str, groups: list[_Group], unmoved: Turn, number: int) -> Turn:
    """Open or close a group, or begin its second half; return what was done in a closed one."""
    inner = groups[-1]
    if mark in _CLOSING:
        groups.append(_Group(mark, unmoved))
    elif mark in ",:" and inner.bracket == "[" and not inner.mark:
        groups[-1] = _Group("[", unmoved, mark, inner.done)
    elif mark == _CLOSING.get(inner.bracket) and (mark == ")" or inner.mark):
        groups.pop()
        if mark == ")":
            return inner.done
        parts = [inner.before, inner.done, _undone(inner.before), _undone(inner.done)]
        return reduce(turned_then, parts if inner.mark == "," else parts[:3])
    else:
        where = f"after turn {number}" if number else "before the first turn"
        raise ConfigurationError(f"{mark!r} {where} does not fit; expected groups such as {_GROUPS}")
    return unmoved


def _undone(turn: Turn) -> Turn:
    return tuple(sorted(range(len(turn)), key=turn.__getitem__))
