"""Help for a player: the shortest path to a goal, and boards of a given distance, from a run."""

from contextlib import ExitStack
from itertools import pairwise
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from hakoiri.puzzles.errors import PuzzleError, counted

if TYPE_CHECKING:
    from hakoiri.api import Run
    from hakoiri.cli.puzzles.game import PlaySession
    from hakoiri.puzzles.contract import Puzzle
    from hakoiri.puzzles.keys.layout import Key
    from hakoiri.puzzles.registry import PuzzleSpec


class Hints:
    """Answers from a finished run of the same puzzle that contains the board; found on demand.

    A small space (`coordinator.layers.probe`) is explored at once, in a folder that `close` removes.
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
        from hakoiri.coordinator.errors import UnanswerableError

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
        """Return a finished run of the same puzzle that contains a configuration, the one created last first."""
        from hakoiri.api import open_run
        from hakoiri.coordinator.runs.catalogue import data_directory, list_runs

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
        self._run = self._explored()
        return self._run

    def _explored(self) -> "Run | None":
        """Explore all that the start reaches; ``None`` if that is too much for a player who waits."""
        from hakoiri.api import explore
        from hakoiri.coordinator.layers.probe import probe

        if not probe(self._puzzle).exhausted:
            return None
        folder = self._open.enter_context(TemporaryDirectory(prefix="hakoiri-play-"))
        made = explore(self._word, self._spec.options, start=self._spec.start, data=folder)
        return self._open.enter_context(made)
