"""Pictures and films as files, in the format given by their ending."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.puzzles.errors import counted
from hakoiri.puzzles.pictures.shapes import Picture
from hakoiri.render.pictures.film import Film, durations, film_svg
from hakoiri.render.pictures.page import film_page
from hakoiri.render.pictures.sheet import captioned
from hakoiri.render.pictures.svg import svg
from hakoiri.storage.engine.files import replaced, require_place, write_file

PICTURES, FILMS = (".svg", ".png"), (".gif", ".svg", ".html")
#: The greatest enlargement of a GIF, and its number of colours.
_ENLARGED, _COLOURS = 1.5, 64
#: The most moves of a film.
MOST_FILMED = 2_000
#: The number of boards from which the colours of a GIF are chosen.
_SAMPLES = 12


def check_ending(target: Path, endings: Sequence[str] = PICTURES) -> None:
    """Raise `UnanswerableError` for an unknown ending, `NotWritableError` if the file cannot be written."""
    if target.suffix not in endings:
        raise UnanswerableError(f"cannot draw {target.name!r}: the name must end in {', '.join(endings)}")
    require_place(target)


def write_picture(picture: Picture, title: str, target: Path) -> None:
    """Draw a picture into an SVG or PNG file."""
    check_ending(target)
    if target.suffix == ".svg":
        write_file(target, svg(picture, title))
        return
    from hakoiri.render.pictures.image import image

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

    from hakoiri.render.pictures.image import image

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
