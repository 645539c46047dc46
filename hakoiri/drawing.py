"""Boards, paths and plots of a run as a notebook shows them, and as files."""

import os
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import overload

from hakoiri.keys.layout import Key
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.pictures import Picture
from hakoiri.render.films import MOST_FILMED, Film, film_of, film_page, write_film, write_picture
from hakoiri.render.images import svg, titled
from hakoiri.run.paths import ShortestPath

#: Pixels of a film's page above and below its boards.
_CONTROLS = 320
#: The highest boards of a film's page, in pixels.
_MOST_HIGH = 400


class Drawing(str):
    """The text of an SVG document, which a notebook shows as a picture."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<Drawing: {len(self):,} characters of SVG>"

    def _repr_svg_(self) -> str:
        return str(self)


class DrawnBoard(str):
    """The text of a configuration, to be given to any call that takes one; a notebook shows it as a picture.

    `key` is its key. In a path its pieces have the letters and colours of the first board.
    """

    key: Key
    _puzzle: Puzzle
    _path: Sequence[Key]

    def __new__(cls, puzzle: Puzzle, path: Sequence[Key]) -> "DrawnBoard":
        """Return the last configuration of a path."""
        board = super().__new__(cls, puzzle.render_path(list(path))[-1])
        board.key, board._puzzle, board._path = path[-1], puzzle, path
        return board

    @property
    def picture(self) -> Picture:
        """The shapes of the picture, as data."""
        return self._puzzle.pictures(list(self._path))[-1]

    def svg(self) -> Drawing:
        """Return the picture as an SVG document."""
        return Drawing(svg(self.picture, self))

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the picture to a file, .svg or .png."""
        write_picture(self.picture, self, Path(file))

    def _repr_svg_(self) -> str:
        return self.svg()


class DrawnPath(ShortestPath):
    """A shortest path: ``path[0]`` is the first board, ``path[-1]`` the last one, `moves` are the moves between them.

    `len` is the number of moves, one less than that of boards. A piece has the same letter and colour on all boards
    and in all moves, those of the first board. A notebook shows the path as a film.
    """

    @overload
    def __getitem__(self, place: int) -> DrawnBoard: ...
    @overload
    def __getitem__(self, place: slice) -> list[DrawnBoard]: ...
    def __getitem__(self, place: int | slice) -> DrawnBoard | list[DrawnBoard]:
        """Return the board after this number of moves, or several."""
        number = range(len(self.keys))[place]
        return self._board(number) if isinstance(number, int) else [self._board(one) for one in number]

    def __iter__(self) -> Iterator[DrawnBoard]:
        """Yield the boards from the first to the last."""
        return map(self._board, range(len(self.keys)))

    def film(self, file: str | os.PathLike[str]) -> None:
        """Write a film to a file: .gif, .svg, or .html to step through; `UnanswerableError` above 2,000 moves."""
        write_film(self._film(), Path(file))

    def _board(self, number: int) -> DrawnBoard:
        return DrawnBoard(self.puzzle, self.keys[: number + 1])

    def _film(self) -> Film:
        return film_of(titled(self.puzzle), lambda: self.puzzle.pictures(self.keys), self.moves)

    def _repr_html_(self) -> str | None:
        if len(self) > MOST_FILMED:
            return None
        film = self._film()
        style = f"width:100%;border:0;height:{min(round(film.height), _MOST_HIGH) + _CONTROLS}px"
        return f'<iframe title="{escape(film.title)}" style="{style}" srcdoc="{escape(film_page(film))}"></iframe>'
