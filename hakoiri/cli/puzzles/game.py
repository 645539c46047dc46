"""A game in progress: the effect of each key, independent of a terminal."""

import re
from dataclasses import dataclass
from enum import Enum
from string import ascii_letters
from typing import TYPE_CHECKING

from hakoiri.puzzles.errors import counted

if TYPE_CHECKING:
    from hakoiri.puzzles.contract import Puzzle
    from hakoiri.puzzles.keys.layout import Key

#: A move in a direction, perhaps followed by others, of one piece with a one-character name, or of all pieces.
_DIRECTED_MOVE = re.compile(r"(?:(\S) )?(up|down|left|right)\b")
#: A move of a disc to a peg.
_TO_PEG = re.compile(r"(\S) from peg \d+ to peg (\d)$")
#: A turn of a face or tip, in the usual notation.
_TURN = re.compile(r"([A-Za-z])(['2]?)$")
#: The keys that name moves, by the notation of all moves.
_KEYS = {
    _DIRECTED_MOVE: "letter, then arrow: move",
    _TO_PEG: "disc, then peg: move",
    _TURN: "letter, then ' or 2: turn",
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
        if self._notation is _TURN and key in "'2" and len(self.path) > 1:
            # The turn before was another one.
            turn = self.moves[-1][0]
            self._undo()
            self._choose([choice for choice in self.choices if choice.words == turn + key], turn + key)
        elif self._notation is _TO_PEG and self.selected and key.isdigit():
            self._choose(self._going(key), f"{self.selected} to peg {key}")
        else:
            found = [choice for choice in self.choices if choice.called == self._called(key)]
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

    def _called(self, key: str) -> str:
        """Return a character in the case that the choices use."""
        called = {choice.called for choice in self.choices}
        return key if key in called else key.swapcase()

    def _choose(self, found: list[MoveChoice], said: str) -> None:
        """Make the selected move, the shortest if all have one direction; else set a message."""
        if not found:
            self.message = f"there is no move {said.strip()}"
        elif len(found) == 1 or len({(choice.called, choice.way) for choice in found}) == 1 or self._notation is _TURN:
            self._move(min(found, key=lambda choice: len(choice.words)))
        elif len({choice.called for choice in found}) == 1:
            self.cursor = self.choices.index(found[0])
            self.message = f"{self.selected} is chosen: which {'peg' if self._notation is _TO_PEG else 'way'}?"
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
        self._notation, found = _notation(words)
        # Moves are selected by their pieces if all have one; else by letters in the order of the list.
        named = bool(found) and all(each[1] for each in found)
        letters = [each[1] for each in found] if named else [*ascii_letters, *[""] * len(words)]
        ways = [each[2] for each in found] or [""] * len(words)
        self.choices = [MoveChoice(*each, named) for each in zip(words, targets, letters, ways, strict=False)]
        self.keys = _KEYS[self._notation] if named and self._notation else ""
        self.cursor = 0
        if self.selected not in letters:
            self.selected = ""


def _notation(words: list[str]) -> tuple[re.Pattern[str] | None, list[re.Match[str]]]:
    """Return the notation that all these moves are in, and what it finds in each; ``None`` and nothing for others."""
    for pattern in _KEYS if words else ():
        found = [match for each in words if (match := pattern.match(each))]
        if len(found) == len(words):
            return pattern, found
    return None, []
