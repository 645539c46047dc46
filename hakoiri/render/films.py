"""A path as a film or a page to step through, and pictures as files in the format given by their ending.

Parts with the same name and shapes on several boards are one sprite, which glides from place to place.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.errors import counted
from hakoiri.export.tables import require_ending
from hakoiri.puzzles.pictures import INK, Picture, Shape
from hakoiri.render.images import LINE, WORDS, captioned, document, image, number, shapes_svg, svg, text, text_width
from hakoiri.storage.engine.files import replaced, require_place, write_file

_HEAD = """\
<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>@TITLE@</title>
"""


def page(name: str, values: dict[str, str]) -> str:
    """Return the head and NAME.html of this folder, with the value of NAME, which is HTML, for each @NAME@."""
    body = Path(__file__).with_name(f"{name}.html").read_text("utf-8")
    return re.sub("@([A-Z_]+)@", lambda found: values[found[1]], f"{_HEAD}{body}</html>\n")


def script(value: object) -> str:
    """Return JSON that cannot end the script that contains it."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


#: The seconds for which a board, the first and the last one are shown, and for which a piece glides to its next place.
SECONDS, FIRST, LAST, GLIDE = 0.7, 1.5, 3.0, 0.3
#: Hides sprites that are not on the first board, for viewers without animation.
_HIDDEN = ' visibility="hidden"'
#: The place of a sprite on a board; ``None`` if it is not on it.
Place = tuple[float, float] | None


class Sprite(NamedTuple):
    """Shapes that are drawn once, and their place on each board."""

    name: str
    shapes: tuple[Shape, ...]
    places: list[Place]

    def changes(self) -> list[tuple[int, Place]]:
        """Return the boards at which its place changes, the first one included."""
        places = enumerate(self.places)
        return [(board, place) for board, place in places if not board or place != self.places[board - 1]]


class Film(NamedTuple):
    """Boards of one puzzle, a caption for each, and a title for all."""

    title: str
    pictures: list[Picture]
    words: list[str]

    @property
    def width(self) -> float:
        """The width of the widest board or caption."""
        return max(*(picture.width for picture in self.pictures), *map(text_width, self.words))

    @property
    def height(self) -> float:
        """The height of the highest board."""
        return max(picture.height for picture in self.pictures)

    def sprites(self) -> list[Sprite]:
        """Return all sprites, those in front last."""
        found: dict[tuple[str, tuple[Shape, ...]], tuple[int, Sprite]] = {}
        width = self.width
        for board, picture in enumerate(self.pictures):
            left = (width - picture.width) / 2
            for layer, part in enumerate(picture.parts):
                nowhere: list[Place] = [None] * len(self.pictures)
                fresh = layer, Sprite(part.name, part.shapes, nowhere)
                found.setdefault((part.name, part.shapes), fresh)[1].places[board] = left + part.x, part.y
        return [sprite for _, sprite in sorted(found.values(), key=lambda layered: layered[0])]


def durations(boards: int) -> list[float]:
    """Return the seconds for which each board is shown."""
    return [FIRST, *[SECONDS] * (boards - 2), LAST][:boards] if boards > 1 else [LAST]


def film_svg(film: Film) -> str:
    """Return an SVG document that plays in a loop."""
    times, total = [0.0], sum(durations(len(film.words)))
    for seconds in durations(len(film.words)):
        times.append(times[-1] + seconds)
    clock = _Clock([time / total for time in times], GLIDE / total, f'dur="{number(total)}s" repeatCount="indefinite"')
    lines = [clock.sprite(sprite) for sprite in film.sprites()]
    lines.append(f'<g font-size="{WORDS}" fill="{INK}">')
    height = film.height + LINE / 2 + 4 + 0.36 * WORDS
    for board, words in enumerate(film.words):
        place = f'x="{number(film.width / 2)}" y="{number(height)}"{_HIDDEN if board else ""}'
        there = [(0, False), (board, True), (board + 1, False)] if board else [(0, True), (1, False)]
        shown = clock.shown([change for change in there if change[0] < len(film.words)])
        lines.append(f"<text {place}>{text(words)}{shown}</text>")
    return document(film.width, film.height + LINE, film.title, "\n".join([*lines, "</g>"]))


class _Clock(NamedTuple):
    """The times of the boards and of a glide, as parts of the whole, and the attributes shared by all animations."""

    times: list[float]
    glide: float
    shared: str

    def sprite(self, sprite: Sprite) -> str:
        """Return a group that glides, appears and disappears."""
        changes = sprite.changes()
        shown = [(board, place is not None) for board, place in changes]
        shown = [one for index, one in enumerate(shown) if not index or one[1] != shown[index - 1][1]]
        places = [(board, place) for board, place in changes if place is not None]
        first = f'transform="translate({_place(places[0][1])})"{_HIDDEN if sprite.places[0] is None else ""}'
        body = self.shown(shown) + self._glides(places) + shapes_svg(sprite.shapes)
        return f'<g data-piece="{text(sprite.name)}" {first}>{body}</g>'

    def shown(self, changes: list[tuple[int, bool]]) -> str:
        """Return the animation of visibility; empty if it never changes."""
        if len(changes) == 1:
            return ""
        values = ";".join("visible" if there else "hidden" for _, there in changes)
        times = ";".join(_time(self.times[board]) for board, _ in changes)
        kind = 'attributeName="visibility" calcMode="discrete"'
        return f'<animate {kind} values="{values}" keyTimes="{times}" {self.shared}/>'

    def _glides(self, places: Sequence[tuple[int, tuple[float, float]]]) -> str:
        """Return the animation from each place to the next, shortly before the board with the next place."""
        if len(places) == 1:
            return ""
        keys = [(0.0, places[0][1])]
        for board, place in places[1:]:
            keys += [(max(self.times[board] - self.glide, keys[-1][0]), keys[-1][1]), (self.times[board], place)]
        keys.append((1.0, keys[-1][1]))
        values = ";".join(_place(place) for _, place in keys)
        times = ";".join(_time(time) for time, _ in keys)
        kind = 'attributeName="transform" type="translate"'
        return f'<animateTransform {kind} values="{values}" keyTimes="{times}" {self.shared}/>'


def _place(place: tuple[float, float]) -> str:
    return f"{number(place[0])} {number(place[1])}"


def _time(share: float) -> str:
    return f"{share:.5f}".rstrip("0").rstrip(".")


def film_page(film: Film) -> str:
    """Return the page; without scripts it shows the first board."""
    groups, changes = [], []
    for sprite in film.sprites():
        first = sprite.places[0]
        style = "visibility:hidden" if first is None else f"transform:translate({first[0]:g}px, {first[1]:g}px)"
        groups.append(f'<g data-piece="{text(sprite.name)}" style="{style}">{shapes_svg(sprite.shapes)}</g>')
        changes.append([[board, *(float(number(value)) for value in place or ())] for board, place in sprite.changes()])
    picture = document(film.width, film.height, film.title, "\n".join(groups))
    filled = {"TITLE": text(film.title), "SVG": picture, "WORDS": script(film.words), "CHANGES": script(changes)}
    return page("film", filled)


PICTURES, FILMS = (".svg", ".png"), (".gif", ".svg", ".html")
#: The greatest enlargement of a GIF, and its number of colours.
_ENLARGED, _COLOURS = 1.5, 64
#: The most moves of a film.
MOST_FILMED = 2_000
#: The number of boards from which the colours of a GIF are chosen.
_SAMPLES = 12


def check_ending(target: Path, endings: Sequence[str] = PICTURES) -> None:
    """Raise `UnanswerableError` for an unknown ending, `NotWritableError` if the file cannot be written."""
    require_ending(target, endings, "draw")
    require_place(target)


def write_picture(picture: Picture, title: str, target: Path) -> None:
    """Draw a picture into an SVG or PNG file."""
    check_ending(target)
    if target.suffix == ".svg":
        write_file(target, svg(picture, title))
        return
    with replaced(target) as part:
        image(picture).save(part, "PNG", optimize=True)


def write_film(film: Film, target: Path) -> None:
    """Write the film in the format given by the ending: .gif, .svg or .html."""
    check_ending(target, FILMS)
    if target.suffix == ".gif":
        _write_gif(film, target)
    elif target.suffix == ".svg":
        write_file(target, film_svg(film))
    else:
        write_file(target, film_page(film))


def film_of(title: str, pictures: Callable[[], Iterable[Picture]], moves: Sequence[str]) -> Film:
    """Return a film of moves; `pictures` makes the boards, from the start on. `UnanswerableError` for too many moves.

    The title is completed by the number of moves.
    """
    if len(moves) > MOST_FILMED:
        raise UnanswerableError(f"the film has {len(moves):,} moves, above the limit of {MOST_FILMED:,}")
    words = ["start", *(f"{number} of {len(moves)}: {move}" for number, move in enumerate(moves, 1))]
    return Film(f"{title}: {counted(len(moves), 'moves')}", list(pictures()), words)


def _write_gif(film: Film, target: Path) -> None:
    from PIL import Image

    width, height = film.width, film.height
    frames = [
        image(captioned(picture, words, width, height), _ENLARGED)
        for picture, words in zip(film.pictures, film.words, strict=True)
    ]
    samples = frames[:: -(-len(frames) // _SAMPLES)]
    together = Image.new("RGB", (frames[0].width, sum(frame.height for frame in samples)))
    for place, frame in enumerate(samples):
        together.paste(frame, (0, place * frame.height))
    colours = together.quantize(_COLOURS, dither=Image.Dither.NONE)
    few = [frame.quantize(palette=colours, dither=Image.Dither.NONE) for frame in frames]
    times = [round(1000 * seconds) for seconds in durations(len(frames))]
    with replaced(target) as part:
        few[0].save(part, "GIF", save_all=True, append_images=few[1:], duration=times, loop=0, optimize=True)
