"""A puzzle played on a terminal by a real process, with hints from a finished run."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.commands import HAKOIRI, PATIENCE_SECONDS, FinishedRuns, Hakoiri, clean_environment

#: All that is drawn after a key: the board, what keys do, a line on what came of it.
_BOARD = re.compile(r"(.*?)Esc: leave *\r?\n(.*?)\r?\n", re.DOTALL)


class Player:
    """At a terminal: presses keys, and reads each board that comes of them."""

    def __init__(self, terminal: int, process: "subprocess.Popen[bytes]") -> None:
        self._terminal, self.process = terminal, process
        self._unread = ""

    def board(self) -> list[str]:
        """The next board, its lines without colours."""
        while (found := _BOARD.match(self._unread)) is None:
            self._unread += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", os.read(self._terminal, 1 << 16).decode())
        self._unread = self._unread[found.end() :]
        return [*map(str.rstrip, found[1].splitlines()), found[2].rstrip()]

    def press(self, *keys: str) -> list[str]:
        """The last board that keys lead to."""
        shown: list[str] = []
        for key in keys:
            os.write(self._terminal, key.encode())
            shown = self.board()
        return shown

    def leave(self, key: str = "\x1b") -> int:
        """The exit code of the process."""
        os.write(self._terminal, key.encode())
        with suppress(OSError):  # The end of a terminal is an error.
            while os.read(self._terminal, 1 << 16):
                pass
        return self.process.wait(PATIENCE_SECONDS)


@contextmanager
def playing(data: Path, *arguments: str, stdout: int | None = None) -> Iterator[Player]:
    ours, theirs = pty.openpty()
    command = [str(HAKOIRI), "play", *arguments, "--data", str(data)]
    env = clean_environment(TERM="xterm", COLUMNS="100", LINES="40")
    with subprocess.Popen(command, stdin=theirs, stdout=stdout or theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        try:
            yield Player(ours, process)
        finally:
            process.kill()
            os.close(ours)


@pytest.mark.ci_slow
def test_a_game_with_hints_and_undo(finished: FinishedRuns, tmp_path: Path) -> None:
    with (
        (tmp_path / "told").open("w+b") as told,
        playing(finished.hakoiri.data, "klotski", "--json", stdout=told.fileno()) as player,
    ):
        shown = player.board()
        assert shown[0].endswith("klotski, 0 moves") and "goal: B (2x2) at row 4 column 2" in shown
        assert player.press("?")[-1] == "you are 116 moves from the goal, best: I right"
        moved = player.press("i", "\x1b[C")
        assert "klotski, 2 moves" in moved[0]
        assert any("I │ J" in line for line in moved)
        assert player.press("?")[-1] == "you are 116 moves from the goal, best: I left"
        assert "klotski, 1 move" in player.press("\x7f")[0]
        assert player.press("?")[-1].startswith("you are 115 moves from the goal, best: ")
        assert player.press("X")[-1] == "there is no move X"
        assert player.leave("q") == 0
        told.seek(0)
        found = json.loads(told.read())
    assert (found["puzzle"], found["moves"], found["goal"]) == ("klotski", ["I right"], False)


@pytest.mark.ci_slow
def test_a_game_without_a_run_is_won(tmp_path: Path) -> None:
    with playing(tmp_path, "tiles", "-o", "rows=2", "-o", "columns=2", "--from", "13/2.") as player:
        assert player.board()[0].endswith("tiles, 0 moves")
        assert player.press("?")[-1] == "you are 2 moves from the goal, best: 3 down"
        assert player.press("\x1bOB", "\x1b[B", "\x1b[C")[-1] == "goal reached after 2 moves, the fewest"
        won = player.press("\x7f", "\x7f", "\x1b[C", "\x1b[D", "\x1b[B", "\x1b[C")[-1]
        assert won == "goal reached after 4 moves, 2 more than the fewest, 1 mistake"
        assert player.leave("\x04") == 0


@pytest.mark.ci_slow
def test_a_game_starts_at_a_random_board(tmp_path: Path) -> None:
    """A large space needs a run for hints."""
    with playing(tmp_path, "cube2", "--scramble", "20", "--seed", "5") as player:
        shown = player.board()
        assert shown[-1] == "seed 5"
        assert "letter, then ' or 2: turn" in " ".join(shown)
        assert "make one with: hakoiri run cube2" in player.press("?")[-1]
        assert "cube2, 1 move" in player.press("u", "'")[0]
    with playing(tmp_path, "tiles", "--distance", "9") as player:
        assert player.board()[-1].startswith("seed ")
        assert player.press("?")[-1].startswith("you are 9 moves from the goal, best: ")


def test_without_a_terminal_there_is_no_game(hakoiri: Hakoiri) -> None:
    assert "needs a terminal" in hakoiri.here("play", "klotski", check=False).error


def test_a_tree_is_not_played(hakoiri: Hakoiri, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    assert "it cannot be played" in hakoiri.here("play", "magic-star", check=False).error
