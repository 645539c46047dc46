"""Boards for designers: the statistics of one board, and boards of a given difficulty in spaces of random ones."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakoiri.errors import PuzzleError
from hakoiri.guests.boards.mixes import Boards, Extent, Pieces, goal_of
from hakoiri.guests.deals.dealt import Family
from hakoiri.keys.layout import Key, Keys, key_at
from hakoiri.keys.order import sort_keys
from hakoiri.keys.splitmix import random_words
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.sliding_blocks.boards import images_of, least_image
from hakoiri.puzzles.sliding_blocks.pieces import Blocks, PlacedPiece
from hakoiri.run.answers import Statistics
from hakoiri.worker.graphs.searches import Distances, Graph, closed_graph, distances_from, nearer
from hakoiri.worker.layers.kernels import layers_within
from hakoiri.worker.tasks import measured

#: The most boards of one space that are examined.
_EXAMINED = 24
#: The most puzzles kept.
_MOST_KNOWN = 2_000


@dataclass(frozen=True)
class SolvedSpace:
    """All configurations reachable from one, increasing; the graph of their moves; distances to the nearest goal."""

    puzzle: Puzzle
    keys: Keys
    graph: Graph
    away: Distances
    _placed: dict[int, frozenset[PlacedPiece]] = field(default_factory=dict)

    @classmethod
    def of(cls, puzzle: Puzzle, start: Key, cap: int) -> "SolvedSpace | None":
        """Return the space of a configuration, ``None`` if it has no goal or more than `cap` configurations.

        Raises `PuzzleError` for a puzzle whose moves cannot be taken back.
        """
        if not puzzle.undirected:
            raise PuzzleError(f"the moves of {puzzle.name} cannot be taken back, so a board has no such statistics")
        layers, whole = layers_within(puzzle, puzzle.keys([start]), cap)
        if not whole:
            return None
        keys = sort_keys(np.concatenate(layers))
        return cls.over(puzzle, keys, closed_graph(puzzle, keys)) if puzzle.is_goal(keys).any() else None

    @classmethod
    def over(cls, puzzle: Puzzle, keys: Keys, graph: Graph) -> "SolvedSpace":
        """Return the space of increasing `keys`, some of them goals, that `graph` connects."""
        goals = np.flatnonzero(puzzle.is_goal(keys)).astype(np.int32)
        return cls(puzzle, keys, graph, distances_from(graph, goals))

    def place(self, key: Key) -> int:
        """Return the vertex of a configuration."""
        return int(np.flatnonzero((self.keys == self.puzzle.keys([key])).reshape(len(self.keys), -1).all(axis=1))[0])

    def targets(self, vertex: int) -> list[int]:
        begin, end = self.graph.offsets[vertex : vertex + 2]
        return [int(target) for target in self.graph.targets[begin:end]]

    def text(self, vertex: int) -> str:
        """Return a board as text, its pieces lettered in reading order."""
        return images_of(self.puzzle.render(key_at(self.keys, vertex)))[0]

    def pieces(self, vertex: int) -> frozenset[PlacedPiece]:
        """Return the pieces of a configuration of sliding blocks; none for another puzzle."""
        if vertex not in self._placed:
            key = key_at(self.keys, vertex)
            self._placed[vertex] = frozenset(self.puzzle.unpack(key) if isinstance(self.puzzle, Blocks) else ())
        return self._placed[vertex]

    def good(self, vertex: int) -> list[int]:
        """Return the successors that are nearer to a goal."""
        return [target for target in self.targets(vertex) if self.away[target] < self.away[vertex]]

    def unique(self) -> NDArray[np.bool_]:
        """Return for each vertex whether it has a single shortest solution."""
        away, (offsets, targets) = self.away, self.graph
        source = np.repeat(np.arange(len(away)), np.diff(offsets))
        down = nearer(self.graph, away)
        following = np.zeros(len(away), dtype=np.int64)
        following[source[down]] = targets[down]
        single = np.bincount(source[down], minlength=len(away)) == 1
        found: NDArray[np.bool_] = away == 0
        for depth in range(1, int(away.max()) + 1):
            here = np.flatnonzero(single & (away == depth))
            found[here] = found[following[here]]
        return found


def statistics(space: SolvedSpace, vertex: int, text: str) -> Statistics:
    """Return the figures of one board of a space, whose pieces have the letters of `text`."""
    path, ways = [vertex], Counter({vertex: 1})
    while good := space.good(path[-1]):
        path.append(min(good))
    for _ in path[1:]:
        following: Counter[int] = Counter()
        for here, number in ways.items():
            for target in space.good(here):
                following[target] += number
        ways = following
    # All moves can be taken back, and all steps but the first follow a move.
    legal = [len(space.targets(here)) for here in path[:-1]]
    ends = (np.diff(space.graph.offsets) == 1) & (space.away > 0)
    return Statistics(
        moves=len(path) - 1,
        solutions=sum(ways.values()),
        forced=sum(number - (step > 0) == 1 for step, number in enumerate(legal)),
        branching=round(sum(legal) / len(legal), 2) if legal else 0.0,
        good=[round(len(space.good(here)) / number, 3) for here, number in zip(path, legal, strict=False)],
        idle=idle_pieces(space, vertex, text),
        positions=len(space.keys),
        dead_ends=int(np.count_nonzero(ends)),
    )


def idle_pieces(space: SolvedSpace, vertex: int, text: str) -> str | None:
    """Return the letters of the pieces that some shortest solution does not move; ``None`` without pieces."""
    puzzle = space.puzzle
    if not isinstance(puzzle, Blocks):
        return None
    still = {vertex: space.pieces(vertex)}
    for _ in range(int(space.away[vertex])):
        following: dict[int, frozenset[PlacedPiece]] = {}
        for here, pieces in still.items():
            for target in space.good(here):
                following[target] = following.get(target, frozenset()) | (pieces & space.pieces(target))
        still = following
        if not any(still.values()):
            return ""
    letters = text.replace("/", "")
    return "".join(sorted(letters[min(puzzle.pieces.cells(piece))] for piece in frozenset().union(*still.values())))


@dataclass(frozen=True)
class WantedBoards:
    """A family of boards (`guests.boards.mixes`), a goal, and what is wanted of each board; boards are drawn by `seed`.

    Each space of up to `cap` positions gives up to `each` boards `least` to `most` moves from the goal, the farthest
    first; none is on a shortest solution of another. If `unique`, they have a single shortest solution; if `no_idle`,
    all of their pieces have to move.
    """

    size: str
    pieces: str
    empty: str
    goal: str
    least: int
    most: int
    unique: bool
    no_idle: bool
    each: int
    cap: int
    seed: int


@dataclass(frozen=True)
class DesignRequest(WantedBoards):
    """A request for boards among `count` random ones of a family, from number `first` of a seed on.

    If a `board` is given, `least` moves from the goal, it is varied `count` times (`Boards.varied`) instead. Each board
    found that takes as many moves as those before is varied from then on, and returned if it takes more. `fitted` is
    that of `Boards.random`.
    """

    first: int
    count: int
    board: str = ""
    fitted: bool = True


@lru_cache(maxsize=1)
def _known(family: Family, goal: str) -> dict[Pieces, Family]:
    """The puzzles of mixes that this process has built, which takes longer than the search of a small space."""
    return {}


def design(family: Family, asked: DesignRequest) -> list[dict[str, Any]]:
    """Return the boards found, each with the number of its random board, its least image, and statistics."""
    boards, known = Boards.parse(asked.size, asked.pieces, asked.empty), _known(family, asked.goal)
    if asked.board:
        return _hunted(family, asked, boards, known)
    rows = []
    for number in range(asked.first, asked.first + asked.count):
        drawn = boards.random(random_words((asked.seed << 32) + number), asked.fitted)
        rows += [{"number": number} | found for found in _designed(family, asked, drawn, known)]
    return rows


def _hunted(family: Family, asked: DesignRequest, boards: Boards, known: dict[Pieces, Family]) -> list[dict[str, Any]]:
    """Return the variations that take more moves than all before, the hardest first."""
    words, here, harder = random_words((asked.seed << 32) + ~asked.first), asked, list[dict[str, Any]]()
    for _ in range(asked.count):
        for found in _designed(family, here, boards.varied(here.board, words), known):
            if found["moves"] > here.least:
                harder.insert(0, {"number": asked.first} | found)
            here = replace(here, board=found["board"], least=found["moves"])
    return harder


def _designed(
    family: Family, asked: DesignRequest, drawn: tuple[Pieces, str], known: dict[Pieces, Family]
) -> Iterator[dict[str, Any]]:
    pieces, board = drawn
    goal = goal_of(Extent.parse(asked.size), pieces, asked.goal) if board else ""
    if not goal:
        return
    puzzle = known.get(pieces) or family.member(board, goal)
    if len(known) < _MOST_KNOWN:
        known[pieces] = puzzle
    if (space := SolvedSpace.of(puzzle, puzzle.parse(board), asked.cap)) is None:
        return
    found, wanted = [], _wanted(space, asked)
    nearest = space.away[wanted[: asked.each][-1]] if wanted else 0
    for vertex in wanted:
        if space.away[vertex] >= nearest:
            text = space.text(vertex)
            found.append((-space.away[vertex], least_image(text, goal), text, vertex))
    for _, image, text, vertex in sorted(found)[: asked.each]:
        yield {"board": text, "goal": goal, "image": image} | asdict(statistics(space, vertex, text))


def _wanted(space: SolvedSpace, asked: DesignRequest) -> list[int]:
    """Return boards that are wanted, unless they are on a shortest solution of another one: the farthest of them."""
    away, graph = space.away, space.graph
    fitting = (away >= asked.least) & (away <= asked.most)
    if asked.unique and fitting.any():
        fitting &= space.unique()
    source = np.repeat(fitting, np.diff(graph.offsets))
    fitting[graph.targets[source & nearer(graph, away)]] = False
    places = np.flatnonzero(fitting)
    nearest_last = places[np.argsort(-away[places], kind="stable")][:_EXAMINED].tolist()
    return [
        vertex for vertex in nearest_last if not asked.no_idle or not idle_pieces(space, vertex, space.text(vertex))
    ]


#: The task of the workers.
task = measured(Family, DesignRequest, design)
