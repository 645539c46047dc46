"""The command ``play``: a puzzle on the terminal, with hints from a finished run."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from hakoiri.cli.commands import command_line
from hakoiri.cli.options import DataOption, FromOption, JsonOption, PuzzleArgument, PuzzleOptions, spec_of
from hakoiri.cli.puzzles.game import ARROWS, PlaySession, Press
from hakoiri.puzzles.errors import PuzzleError, counted
from hakoiri.render.tables import print_json, stderr, stdout

if TYPE_CHECKING:
    from hakoiri.api import Run
    from hakoiri.puzzles.contract import Puzzle
    from hakoiri.puzzles.registry import PuzzleSpec

_BYTES_AT_ONCE = 64
#: The input of one key: an arrow, or a character; an escape that begins no sequence is the Escape key.
_KEYS = re.compile(r"\x1b[\[O][A-Z]|.", re.DOTALL)
_HELP = "Tab and Enter: the next, take it    Backspace: undo    ?: hint"


@command_line("play klotski")
def play(
    puzzle: PuzzleArgument,
    options: PuzzleOptions = None,
    start: FromOption = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Play a puzzle on the terminal.

    Press a piece's letter, then an arrow, to move it. Hints need a finished run of the puzzle.
    """
    from hakoiri.puzzles.capabilities import Placements

    if not sys.stdin.isatty():
        raise PuzzleError("play needs a terminal, because it reads single keys; to see a solution: hakoiri path last")
    spec = spec_of(puzzle, options, start)
    rules = spec.build()
    if isinstance(rules, Placements):
        raise PuzzleError(f"{rules.name} is a tree, so it cannot be played")
    game, hints, console = PlaySession(rules), _Hints(spec, data), stderr() if json else stdout()
    with _single_keys(), closing(hints):
        _draw(console, game)
        for key in _pressed():
            if game.leaves(key):
                break
            if key is Press.HINT:
                console.print(Text("looking for the shortest path", "dim"))
                game.message = hints.hint(game)
            else:
                game.press(key)
            _draw(console, game)
    row = {"configuration": rules.render(game.here), "moves": game.moves, "goal": game.solved}
    if json:
        print_json({"puzzle": rules.name} | row)


def _draw(console: Console, game: PlaySession) -> None:
    """Print the board, the possible moves, and the message."""
    from hakoiri.render.pictures.terminal import print_picture

    console.clear()
    console.print(Text(f"{game.puzzle.name}, {counted(len(game.path) - 1, 'moves')}", "bold"))
    print_picture(console, game.puzzle.render_path(game.path)[-1], game.puzzle.pictures(game.path)[-1])
    listed = Text()
    for number, choice in enumerate(game.choices):
        style = "reverse" if number == game.cursor else "bold" if choice.called == game.selected else ""
        named = choice.words if choice.of_piece else f"{choice.called} {choice.words}"
        listed.append(named, style).append("   ")
    console.print(listed)
    console.print(Text(f"{_HELP}    {'q or ' if game.leaves('q') else ''}Esc: leave", "dim"))
    console.print(Text(game.message, "cyan"))


@contextmanager
def _single_keys() -> Iterator[None]:
    """Make the terminal deliver each key at once, without echo, while the block runs."""
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _pressed() -> Iterator[Press | str]:
    """Yield the keys that the player presses, until the terminal is closed."""
    arrows = {f"\x1b{kind}{letter}": arrow for kind in "[O" for letter, arrow in zip("ABDC", ARROWS, strict=True)}
    known = arrows | {
        "\x7f": Press.UNDO, "\x08": Press.UNDO, "\t": Press.NEXT, "\r": Press.TAKE, "\n": Press.TAKE, "?": Press.HINT,
        "\x1b": Press.LEAVE, "\x04": Press.LEAVE,
    }  # fmt: skip
    while read := os.read(sys.stdin.fileno(), _BYTES_AT_ONCE):
        for key in _KEYS.findall(read.decode("utf-8", "replace")):
            if key in known or key.isprintable():
                yield known.get(key, key)


class _Hints:
    """The shortest path to a goal, from a finished run of the same puzzle that contains the board; found on demand.

    `close` closes that run.
    """

    def __init__(self, spec: "PuzzleSpec", data: Path | None) -> None:
        self._spec, self._data = spec, data
        self._run: Run | None = None
        self._way: list[int] = []

    def close(self) -> None:
        if self._run is not None:
            self._run.close()

    def hint(self, game: PlaySession) -> str:
        """Return the distance to the goal and the best move, or the reason why it is unknown."""
        from hakoiri.coordinator.errors import UnanswerableError

        if game.solved:
            return "this is the goal"
        if game.here not in self._way:
            text = game.puzzle.render(game.here)
            self._look_for_run(game.puzzle, text)
            if self._run is None:
                options = (f"-o {name}={value}" for name, value in self._spec.options.items())
                begun = [f"--from {self._spec.start}"] if game.puzzle.start_is_board else []
                made = " ".join(["hakoiri run", self._spec.name, *options, *begun])
                return f"no finished run knows this board; make one with: {made}"
            try:
                self._way = self._run.path(source=text).keys
            except UnanswerableError:
                return "no goal can be reached from here"
        place = self._way.index(game.here)
        best = next(choice.words for choice in game.choices if choice.target == self._way[place + 1])
        return f"you are {counted(len(self._way) - 1 - place, 'moves')} from the goal, best: {best}"

    def _look_for_run(self, puzzle: "Puzzle", text: str) -> None:
        """Open a finished run of the same puzzle that contains a configuration, the one created last first."""
        from hakoiri.api import open_run
        from hakoiri.coordinator.runs.catalogue import data_directory, list_runs

        if self._run is not None and text in self._run:
            return
        self.close()
        self._run = None
        for status in reversed(list_runs(data_directory(self._data))):
            pinned = status.manifest.puzzle if status.manifest and status.status == "complete" else {}
            same = (pinned.get("name"), pinned.get("digest")) == (self._spec.name, self._spec.digest)
            if same and pinned["options"] == puzzle.parameters:
                run = open_run(status.run, self._data)
                if run.exhausted and text in run:
                    self._run = run
                    return
                run.close()
