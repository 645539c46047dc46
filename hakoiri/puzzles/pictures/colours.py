"""Colours that can be told apart, also with colour blindness."""

import colorsys
from collections.abc import Iterable
from functools import cache

from hakoiri.puzzles.pictures.shapes import INK

#: The first seven are those of Okabe and Ito ("Color universal design", 2008); the others differ in lightness, too.
DISTINCT = (
    "#e69f00", "#56b4e9", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#0072b2",
    "#b3de69", "#7b4ba0", "#f4c9a8", "#7f4a21", "#bdbdbd", "#a6dcd8", "#5e6b73",
)  # fmt: skip
#: The goal's places and pieces have the first; kinds of pieces, told apart by their shapes too, have the others.
GOAL = "#e68d74"
_KINDS = ("#e3c27f", "#9cc2b2", "#a9bcd8", "#c9b3d8", "#dba9b2", "#c8c2b2")
#: Points of viridis, which grows lighter evenly (van der Walt and Smith, 2015); without its darkest end.
_SCALE = ("#414487", "#2a788e", "#22a884", "#7ad151", "#fde725")
_WHITE = "#ffffff"
#: The golden angle, as a part of the circle of hues: consecutive hues are never close.
_GOLDEN = 0.381966


def distinct(number: int) -> str:
    """The colour of this number; beyond the chosen ones, hues that follow each other by the golden angle."""
    if number < len(DISTINCT):
        return DISTINCT[number]
    lightness = (0.45, 0.65, 0.8)[number % 3]
    return _text(colorsys.hls_to_rgb(number * _GOLDEN % 1, lightness, 0.5))


def of_kind(number: int) -> str:
    """The colour of a kind of pieces."""
    return _KINDS[number] if number < len(_KINDS) else distinct(number - len(_KINDS))


def scale(number: int, count: int) -> str:
    """The colour of `number` of 0 to `count` - 1, from dark to light."""
    place = number / max(count - 1, 1) * (len(_SCALE) - 1)
    index = min(int(place), len(_SCALE) - 2)
    low, high = _parts(_SCALE[index]), _parts(_SCALE[index + 1])
    share = place - index
    return _text(tuple(one + share * (other - one) for one, other in zip(low, high, strict=True)))


@cache
def ink(fill: str) -> str:
    """Return black or white, whichever has more contrast with this ground (contrast as WCAG 2 defines it)."""
    light = luminance(fill)
    return INK if (light + 0.05) / (luminance(INK) + 0.05) > 1.05 / (light + 0.05) else _WHITE


def luminance(colour: str) -> float:
    """Return the luminance of a colour, 0 to 1."""
    linear = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in _parts(colour))
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _parts(colour: str) -> tuple[float, ...]:
    return tuple(int(colour[begin : begin + 2], 16) / 255 for begin in (1, 3, 5))


def _text(parts: Iterable[float]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)
