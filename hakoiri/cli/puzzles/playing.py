"""The command ``play``: a puzzle on the terminal, with hints."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from secrets import randbelow
from typing import TYPE_CHECKING, Annotated

from rich.console import Console
from rich.text import Text

from hakoiri.cli.commands import command_line, option
from hakoiri.cli.options import DataOption, FromOption, JsonOption, PuzzleArgument, PuzzleOptions, spec_of
from hakoiri.cli.puzzles.game import ARROWS, PlaySession, Press
from hakoiri.cli.puzzles.hints import Hints
from hakoiri.puzzles.errors import Hint, PuzzleError, counted
from hakoiri.puzzles.keys.seeds import MOST_SEED
from hakoiri.render.tables import print_json, stderr, stdout

if TYPE_CHECKING:
    from hakoiri.puzzles.contract import Puzzle
    from hakoiri.puzzles.keys.layout import Key

_BYTES_AT_ONCE = 64
#: The input of one key: an arrow, or a character; an escape that begins no sequence is the Escape key.
_KEYS = re.compile(r"\x1b[\[O][A-Z]|.", re.DOTALL)
_LOOKING = Text("looking for the shortest path", "dim")
_HELP = "Tab and Enter: the next, take it    Backspace: undo    ?: hint"


@command_line("play cube2 --scramble 20")
def play(
    puzzle: PuzzleArgument,
    options: PuzzleOptions = None,
    start: FromOption = None,
    scramble: Annotated[int | None, option("--scramble", "N", "Make N random moves first.", min=1, max=10_000)] = None,
    distance: Annotated[
        int | None, option("--distance", "N", "Start at a random board N moves from the goal.", min=1)
    ] = None,
    seed: Annotated[
        int | None, option("--seed", "S", "Seed of the random start.", min=0, max=MOST_SEED, usual="a random one")
    ] = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Play a puzzle on the terminal.

    Press a piece's letter, then an arrow, to move it. Twisty puzzles take their notation: R, then ' or 2. For Hanoi
    press a disc, then a peg. Hints come from a finished run; small puzzles are searched at once.
    """
    from hakoiri.puzzles.capabilities import Placements
    from hakoiri.puzzles.keys.splitmix import random_words

    if scramble and distance:
        raise PuzzleError("--scramble and --distance exclude each other; give one of them")
    if not sys.stdin.isatty():
        raise PuzzleError("play needs a terminal, because it reads single keys; to see a solution: hakoiri path last")
    spec = spec_of(puzzle, options, start)
    rules = spec.build()
    if isinstance(rules, Placements):
        text = f"{rules.name} is a tree, so it cannot be played; a run counts its solutions"
        raise PuzzleError(text, Hint("run", puzzle))
    seed = randbelow(MOST_SEED + 1) if seed is None else seed
    words, console = random_words(seed << 32), stderr() if json else stdout()
    with closing(Hints(puzzle, spec, rules, data)) as hints:
        first = hints.start_at(distance, next(words)) if distance else scrambled(rules, scramble or 0, words)
        game = PlaySession(rules, first)
        game.message = f"seed {seed}" if scramble or distance else ""
        with _single_keys():
            _play(console, game, hints)
    row = {"configuration": rules.render(game.here), "moves": game.moves, "goal": game.solved}
    if json:
        print_json({"puzzle": rules.name, "start": rules.render(first)} | row)


def scrambled(puzzle: "Puzzle", moves: int, words: Iterator[int]) -> "Key":
    """Return the configuration after random moves from the start; none is taken back at once unless it must be."""
    before = here = puzzle.start
    for _ in range(moves):
        following = sorted(set(puzzle.successors(here)))
        if not following:
            break
        onward = [key for key in following if key != before] or following
        before, here = here, onward[next(words) % len(onward)]
    return here


def _play(console: Console, game: PlaySession, hints: Hints) -> None:
    """Draw the board after each key, until the player leaves."""
    _draw(console, game)
    for key in _pressed():
        if game.leaves(key):
            break
        if key is Press.HINT:
            console.print(_LOOKING)
            game.message = hints.hint(game)
        else:
            made = len(game.path)
            game.press(key)
            if game.solved and len(game.path) > made:
                console.print(_LOOKING)
                game.message += hints.verdict(game.path)
        _draw(console, game)


def _draw(console: Console, game: PlaySession) -> None:
    """Print the board with its goal in words, the possible moves, and the message."""
    from hakoiri.render.pictures.terminal import print_picture

    console.clear()
    console.print(Text(f"{game.puzzle.name}, {counted(len(game.path) - 1, 'moves')}", "bold"))
    print_picture(console, game.puzzle.render_path(game.path)[-1], game.puzzle.pictures(game.path)[-1])
    if goal := game.puzzle.goal_text():
        console.print(Text(f"goal: {goal}"))
    listed = Text()
    for number, choice in enumerate(game.choices):
        style = "reverse" if number == game.cursor else "bold" if choice.called == game.selected else ""
        named = choice.words if choice.named else f"{choice.called} {choice.words}"
        listed.append(named, style).append("   ")
    console.print(listed)
    if game.keys:
        console.print(Text(game.keys, "dim"))
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
