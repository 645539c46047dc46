"""Studies of boards: the plan, and the results of each mix as stored, summed up, and as rows of tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any

from hakoiri.puzzles.capabilities import Family
from hakoiri.puzzles.errors import Hint, PuzzleError, require_within
from hakoiri.puzzles.families.mixes import Boards, Mix, goal_of, in_reading_order
from hakoiri.puzzles.keys.layout import Key
from hakoiri.puzzles.registry import PuzzleSpec, names_of
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import Figures
from hakoiri.storage.results.rows import ResultRows
from hakoiri.worker.graphs.family import OPEN, Components, Member, MemberRequest, MemberRow, member_of

MIXES, COMPONENTS = "mix", "component"
#: Increase it when a study finds other figures than before.
_VERSION = 1
#: The most hardest starts.
_MOST_HARDEST = 100
#: The row number of a component that is a task of its own: its mix's number times this, plus its own.
ROOM = 1 << 12


@dataclass(frozen=True)
class BoardsPlan:
    """The boards (`puzzles.families.mixes`), an optional goal ``2x2@4,2``, and whether diametral pairs are counted.

    With a goal, `hardest` is the number of the hardest starts to list.
    """

    size: str
    pieces: str
    empty: str
    goal: str = ""
    pairs: bool = False
    boards_version: int = _VERSION
    hardest: int = 0

    def mixes(self) -> list[Mix]:
        """Return every mix; `PuzzleError` for an invalid plan."""
        if self.boards_version != _VERSION:
            raise PuzzleError(
                f"the run was made by version {self.boards_version} of studies of boards, expected {_VERSION}"
            )
        require_within("hardest", self.hardest, 0, _MOST_HARDEST)
        if self.hardest and not self.goal:
            raise PuzzleError("the hardest starts are those farthest from a goal", Hint("give", "goal", "PIECE@R,C"))
        mixes = self.boards.mixes()
        if self.goal:
            goal_of(self.boards.size, mixes[0].pieces, self.goal)
        return mixes

    @property
    def boards(self) -> Boards:
        return Boards.parse(self.size, self.pieces, self.empty)

    def asked(self, mix: Mix, component: int | None = None) -> MemberRequest:
        """Return the workers' task for a mix, or for one of its components."""
        return MemberRequest(mix.board, self.goal_in(mix), self.pairs, component, self.hardest)

    def goal_in(self, mix: Mix) -> str:
        """Return the goal as a board of a mix; empty without a goal, or if the mix has no such piece."""
        return goal_of(self.boards.size, mix.pieces, self.goal) if self.goal else ""


def family_of(spec: PuzzleSpec) -> Family:
    """Return the puzzle; `PuzzleError` for one whose start is not a board."""
    puzzle = spec.build()
    if not isinstance(puzzle, Family):
        raise PuzzleError(
            f"{spec.name} is not a family of boards; expected {names_of(lambda kind: issubclass(kind, Family))}"
        )
    return puzzle


@dataclass(frozen=True)
class MixFigures(Figures):
    """The number of mixes, the number of measured ones, and totals over these.

    `isolated` is the number of components that are single configurations, `diameter` the largest known.
    """

    mixes: int = 0
    mixes_done: int = 0
    configurations: int = 0
    components: int = 0
    isolated: int = 0
    largest_component: int = 0
    diameter: int = 0


def read_members(ledger: Ledger) -> dict[int, Member]:
    """Return the results of each mix by number, including components that were tasks of their own."""
    rows = (ResultRows(ledger, table).all(MemberRow) for table in (MIXES, COMPONENTS))
    found, more = ({number: member_of(row) for number, row in each.items()} for each in rows)
    for number, member in more.items():
        # A component of a mix that a repair has erased waits until the mix is measured again.
        if (mix := number // ROOM) in found:
            found[mix] = replace(found[mix], components=filled(found[mix].components, member.components))
    return found


def filled(known: Components, more: Components) -> Components:
    """Return `known` with the diameters and pairs of `more` components."""
    diameter, pair, pairs = list(known.diameter), list(known.pair), list(known.pairs)
    for place, number in enumerate(more.number):
        diameter[number], pair[number], pairs[number] = more.diameter[place], more.pair[place], more.pairs[place]
    return replace(known, diameter=diameter, pair=pair, pairs=pairs)


def counted_of(mixes: int, members: Mapping[int, Member]) -> MixFigures:
    """Return the figures of a study so far."""
    known = [member.components for member in members.values()]
    return MixFigures(
        mixes,
        sum(not components.left() for components in known),
        sum(member.configurations for member in members.values()),
        sum(len(components.number) for components in known),
        sum(components.size.count(1) for components in known),
        max((components.size[0] for components in known), default=0),
        max((max(components.diameter) for components in known), default=0),
    )


def mix_row(mix: Mix, member: Member, family: Family) -> dict[str, Any]:
    """Return the row of a mix: the totals over its components, and the component with the greatest diameter."""
    known, puzzle = member.components, family.member(mix.board)
    widest = max(range(len(known.number)), key=lambda place: (known.diameter[place], -place))
    far = max(range(len(known.number)), key=lambda place: (known.moves[place], -place))
    goal = known.moves[far] != OPEN
    return {
        "mix": str(mix),
        "empty": mix.empty,
        "configurations": member.configurations,
        "edges": member.edges,
        "components": len(known.number),
        "isolated": known.size.count(1),
        "largest": known.size[0],
        "diameter": known.diameter[widest],
        "pair": [_board(puzzle, key) for key in known.pair[widest]],
        "pairs": None if known.pairs[widest] == OPEN else known.pairs[widest],
        "moves": known.moves[far] if goal else None,
        "hardest": _board(puzzle, known.hardest[far]) if goal else None,
    }


def _board(puzzle: Family, key: Key) -> str:
    """Return a board in letters that do not depend on the mix: nobody typed letters here."""
    return in_reading_order(puzzle.render(key))


def start_rows(
    plan: BoardsPlan, mixes: Sequence[Mix], members: Mapping[int, Member], family: Family
) -> list[dict[str, Any]]:
    """Return the hardest starts of all mixes, one of each symmetry class; ties go to the first mix and least key."""
    puzzle_of = cache(lambda number: family.member(mixes[number].board))
    starts = [(-moves, number, key, image) for number, member in members.items() for moves, key, image in member.starts]
    first: dict[str, tuple[int, int, Key]] = {}
    for less, number, key, image in sorted(starts):
        first.setdefault(image, (-less, number, key))
    return [
        {"moves": moves, "mix": str(mixes[number]), "empty": mixes[number].empty,
         "board": _board(puzzle_of(number), key), "goal": plan.goal_in(mixes[number])}
        for moves, number, key in islice(first.values(), plan.hardest)
    ]  # fmt: skip


def component_rows(mix: Mix, member: Member, puzzle: Family) -> Iterator[dict[str, Any]]:
    """Yield a row for each component of a mix."""
    known = member.components
    for place, component in enumerate(known.number):
        one, other = (_board(puzzle, key) for key in known.pair[place])
        open_one, far = known.diameter[place] == OPEN, known.moves[place] != OPEN
        yield {
            "mix": str(mix),
            "empty": mix.empty,
            "component": component,
            "size": known.size[place],
            "diameter": None if open_one else known.diameter[place],
            "one": None if open_one else one,
            "other": None if open_one else other,
            "pairs": None if known.pairs[place] == OPEN else known.pairs[place],
            "moves": known.moves[place] if far else None,
            "hardest": _board(puzzle, known.hardest[place]) if far else None,
        }
