"""The command ``play``: a puzzle on the terminal, with hints."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from math import inf
from pathlib import Path
from secrets import randbelow
from string import ascii_letters
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from hakoiri.cli import options as shared
from hakoiri.cli.options import command_line
from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.runs.catalogue import data_directory, list_runs
from hakoiri.errors import Hint, PuzzleError, counted
from hakoiri.parameters import parameter
from hakoiri.puzzles.options import MOST_SEED
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.render.tables import print_json, stderr, stdout

if TYPE_CHECKING:
    from hakoiri.api import Run
    from hakoiri.keys.layout import Key
    from hakoiri.puzzles.contract import Puzzle


class Hints:
    """Answers from a finished run of the same puzzle that contains the board; found on demand.

    A small space (`coordinator.layers.job`) is explored at once, in a folder that `close` removes.
    """

    def __init__(self, word: str, spec: "PuzzleSpec", puzzle: "Puzzle", data: Path | None) -> None:
        """`word` is the puzzle as on the command line, `puzzle` is built of `spec`."""
        self._word, self._spec, self._puzzle, self._data = word, spec, puzzle, data
        self._open = ExitStack()
        self._run: Run | None = None
        self._way: list[Key] = []

    def close(self) -> None:
        self._run = None
        self._open.close()

    def hint(self, game: "PlaySession") -> str:
        """Return the distance to the goal and the best move, or the reason why it is unknown."""
        if game.solved:
            return "this is the goal"
        if game.here not in self._way:
            text = self._puzzle.render(game.here)
            run = self._run_with(text)
            if run is None:
                return f"no finished run knows this board; make one with: {self._making()}"
            try:
                self._way = run.path(source=text).keys
            except UnanswerableError:
                return "no goal can be reached from here"
        place = self._way.index(game.here)
        best = next(choice.words for choice in game.choices if choice.target == self._way[place + 1])
        return f"you are {counted(len(self._way) - 1 - place, 'moves')} from the goal, best: {best}"

    def verdict(self, path: "list[Key]") -> str:
        """Return how a game compares with the fewest moves, and its mistakes; nothing if no run knows.

        A mistake is a move after which the goal is farther, or out of reach.
        """
        from hakoiri.rows.positions import table_of

        run = self._run_with(self._puzzle.render(path[0]))
        table = None if run is None else table_of(run)
        if run is None or table is None:
            return ""
        known = table.know(run.puzzle.keys([run.puzzle.parse(key) for key in path]))
        away = [inf if each is None or each.goal_distance is None else each.goal_distance for each in known]
        more, mistakes = len(path) - 1 - int(away[0]), sum(later > before for before, later in pairwise(away))
        return f", {more:,} more than the fewest, {counted(mistakes, 'mistakes')}" if more else ", the fewest"

    def start_at(self, distance: int, number: int) -> "Key":
        """Return a configuration `distance` moves from its nearest goal, chosen by `number`.

        Raises `PuzzleError` if none is known.
        """
        run = self._run_with(self._puzzle.render(self._puzzle.start))
        if run is None:
            raise PuzzleError(f"the distances to the goal are not known; first make a run with: {self._making()}")
        most = run.hardest(1).distance
        if distance > most:
            raise PuzzleError(f"no configuration is {distance:,} moves from the goal; expected at most {most:,}")
        return run.at_goal_distance(distance, number)

    def _making(self) -> str:
        options = (f"-o {name}={value}" for name, value in self._spec.options.items())
        begun = [f"--from {self._spec.start}"] if self._puzzle.start_is_board else []
        return " ".join(["hakoiri run", self._word, *options, *begun])

    def _run_with(self, text: str) -> "Run | None":
        """Return a finished run of the same puzzle that contains a configuration, the one created last first.

        Without one, explores all that the start reaches; returns ``None`` if that is too much.
        """
        from hakoiri.api import explore, open_run
        from hakoiri.coordinator.layers.job import probe

        if self._run is not None and text in self._run:
            return self._run
        self.close()
        for status in reversed(list_runs(data_directory(self._data))):
            pinned = status.manifest.puzzle if status.manifest and status.status == "complete" else {}
            same = (pinned.get("name"), pinned.get("digest")) == (self._spec.name, self._spec.digest)
            if same and pinned["options"] == self._puzzle.option_texts():
                run = open_run(status.run, self._data)
                if run.exhausted and text in run:
                    self._run = self._open.enter_context(run)
                    return run
                run.close()
        if probe(self._puzzle).exhausted:  # Else it takes too long for a player who waits.
            folder = self._open.enter_context(TemporaryDirectory(prefix="hakoiri-play-"))
            made = explore(self._word, self._spec.options, start=self._spec.start, data=folder)
            self._run = self._open.enter_context(made)
        return self._run


#: By `Puzzle.notation`, what two keys name in a move, and the keys in words.
_KEYS = {
    "arrows": (re.compile(r"(?:(\S) )?(up|down|left|right)\b"), "letter, then arrow: move"),
    "pegs": (re.compile(r"(\S) from peg \d+ to peg (\d)$"), "disc, then peg: move"),
    "turns": (re.compile(r"([A-Za-z])(['2]?)$"), "letter, then ' or 2: turn"),
}


class Press(Enum):
    """Keys that are not characters; arrows have the names of their directions."""

    UP, DOWN, LEFT, RIGHT = "up", "down", "left", "right"
    UNDO, NEXT, TAKE, HINT, LEAVE = "undo", "next", "take", "hint", "leave"


ARROWS = (Press.UP, Press.DOWN, Press.LEFT, Press.RIGHT)


@dataclass(frozen=True)
class MoveChoice:
    """A possible move: its description and target, the character that selects it or its piece, and its way.

    The way is a direction, a peg, or what follows the letter of a turn. `named` moves have their own notation.
    """

    words: str
    target: "Key"
    called: str
    way: str
    named: bool


class PlaySession:
    """The configurations so far, and the selection on the last. Letters of pieces are those of the first board.

    `message` tells the player the effect of the last key, `keys` which keys name moves.
    """

    def __init__(self, puzzle: "Puzzle", start: "Key | None" = None) -> None:
        """`start` is by default the puzzle's."""
        self.puzzle, self.path = puzzle, [puzzle.start if start is None else start]
        self.message = self.selected = ""
        self.cursor = 0
        self._look()

    @property
    def here(self) -> "Key":
        return self.path[-1]

    @property
    def solved(self) -> bool:
        return bool(self.puzzle.is_goal(self.puzzle.keys([self.here]))[0])

    @property
    def moves(self) -> list[str]:
        return self.puzzle.describe_moves(self.path)

    def press(self, key: Press | str) -> None:
        """Handle a key: a character selects a move or a piece, an arrow moves it."""
        self.message = ""
        if isinstance(key, str):
            self._type(key)
        elif key in ARROWS:
            self._choose(self._going(key.value), f"{self.selected} {key.value}")
        elif key is Press.UNDO:
            self._undo()
        elif key is Press.NEXT and self.choices:
            self.cursor = (self.cursor + 1) % len(self.choices)
        elif key is Press.TAKE and self.choices:
            self._move(self.choices[self.cursor])

    def _type(self, key: str) -> None:
        """Select a move or a piece by a character, or say which way what was selected goes."""
        if self._notation == "turns" and key in "'2" and len(self.path) > 1:
            # The turn before was another one.
            turn = self.moves[-1][0]
            self._undo()
            self._choose([choice for choice in self.choices if choice.words == turn + key], turn + key)
        elif self._notation == "pegs" and self.selected and key.isdecimal():
            self._choose(self._going(key), f"{self.selected} to peg {key}")
        else:
            # In the case that the choices use.
            called = {choice.called for choice in self.choices}
            wanted = key if key in called else key.swapcase()
            found = [choice for choice in self.choices if choice.called == wanted]
            # Arrows move the piece that was last selected by its letter.
            self.selected = found[0].called if found and found[0].named else self.selected
            self._choose(found, key)

    def _going(self, way: str) -> list[MoveChoice]:
        """Return the moves of the selected piece, or of any without one, that go some way."""
        return [choice for choice in self.choices if choice.way == way and self.selected in ("", choice.called)]

    def leaves(self, key: Press | str) -> bool:
        """Return whether a key ends the game: ``q`` does unless it selects a move or a piece."""
        letters = {choice.called for choice in self.choices}
        if any(choice.named for choice in self.choices):
            # Pieces that cannot move now have letters, too.
            letters.update(self.puzzle.render(self.path[0]))
        return key is Press.LEAVE or (key == "q" and letters.isdisjoint("qQ"))

    def _choose(self, found: list[MoveChoice], said: str) -> None:
        """Make the selected move, the shortest if all have one direction; else set a message."""
        if not found:
            self.message = f"there is no move {said.strip()}"
        elif (
            len(found) == 1 or len({(choice.called, choice.way) for choice in found}) == 1 or self._notation == "turns"
        ):
            self._move(min(found, key=lambda choice: len(choice.words)))
        elif len({choice.called for choice in found}) == 1:
            self.cursor = self.choices.index(found[0])
            which = "peg" if self._notation == "pegs" else "way"
            self.message = f"{self.selected} is chosen: which {which}?"
        else:
            self.message = f"which one? {', '.join(dict.fromkeys(choice.called for choice in found))}"

    def _move(self, choice: MoveChoice) -> None:
        self.path.append(choice.target)
        self._look()
        if self.solved:
            self.message = f"goal reached after {counted(len(self.path) - 1, 'moves')}"
        elif not self.choices:
            self.message = "no moves from here"

    def _words(self, target: "Key") -> str:
        """Return the description of a move; it may depend on the path by the letters of the first board."""
        from hakoiri.puzzles.contract import Puzzle

        if type(self.puzzle).describe_moves is Puzzle.describe_moves:
            return self.puzzle.describe_move(self.here, target)
        return self.puzzle.describe_moves([*self.path, target])[-1]

    def _undo(self) -> None:
        if len(self.path) == 1:
            self.message = "this is the start"
            return
        self.path.pop()
        self.selected = ""
        self._look()

    def _look(self) -> None:
        targets = list(dict.fromkeys(self.puzzle.successors(self.here)))
        words = [self._words(target) for target in targets]
        found = _named(self.puzzle.notation, words)
        self._notation = self.puzzle.notation if found else ""
        # Moves are selected by their pieces if all have one; else by letters in the order of the list.
        named = bool(found) and all(each[1] for each in found)
        letters = [each[1] for each in found] if named else [*ascii_letters, *[""] * len(words)]
        ways = [each[2] for each in found] or [""] * len(words)
        self.choices = [MoveChoice(*each, named) for each in zip(words, targets, letters, ways, strict=False)]
        self.keys = _KEYS[self._notation][1] if named else ""
        self.cursor = 0
        if self.selected not in letters:
            self.selected = ""


def _named(notation: str, words: list[str]) -> list[re.Match[str]]:
    """Return what the keys of a notation name in each move; nothing if some moves are not in it."""
    if notation not in _KEYS:
        return []
    found = [match for each in words if (match := _KEYS[notation][0].match(each))]
    return found if len(found) == len(words) else []


_BYTES_AT_ONCE = 64
#: The input of one key: an arrow, or a character; an escape that begins no sequence is the Escape key.
_KEY_PATTERN = re.compile(r"\x1b[\[O][A-Z]|.", re.DOTALL)
_LOOKING = Text("looking for the shortest path", "dim")
_HELP = "Tab and Enter: the next, take it    Backspace: undo    ?: hint"


@command_line("play cube2 --scramble 20")
def play(
    puzzle: str = shared.PUZZLE,
    options: list[str] | None = shared.PUZZLE_OPTIONS,
    start: str | None = shared.FROM,
    scramble: int | None = parameter("--scramble", "N", "Make N random moves first.", min=1, max=10_000),
    distance: int | None = parameter("--distance", "N", "Start at a random board N moves from the goal.", min=1),
    seed: int | None = parameter("--seed", "S", "Seed of the random start.", "a random one", min=0, max=MOST_SEED),
    data: Path | None = shared.DATA,
    json: bool = shared.JSON,
) -> None:
    """Play a puzzle on the terminal.

    Press a piece's letter, then an arrow, to move it. Twisty puzzles take their notation: R, then ' or 2. For Hanoi
    press a disc, then a peg. Hints come from a finished run; small puzzles are searched at once.
    """
    from hakoiri.keys.splitmix import random_words

    if scramble and distance:
        raise PuzzleError("--scramble and --distance exclude each other; give one of them")
    if not sys.stdin.isatty():
        raise PuzzleError("play needs a terminal, because it reads single keys; to see a solution: hakoiri path last")
    spec = shared.spec_of(puzzle, options, start)
    rules = spec.build()
    if rules.is_tree:
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
    from hakoiri.render.images import print_picture

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
        for key in _KEY_PATTERN.findall(read.decode("utf-8", "replace")):
            if key in known or key.isprintable():
                yield known.get(key, key)
