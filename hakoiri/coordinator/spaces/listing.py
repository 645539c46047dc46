"""The configurations of a whole space as its puzzle lists them, checked."""

from collections.abc import Iterator

from hakoiri.coordinator.errors import ContradictionError
from hakoiri.coordinator.session.session import Session
from hakoiri.puzzles.keys.layout import Key, Keys, key_at
from hakoiri.puzzles.keys.order import is_increasing
from hakoiri.storage.ledger.manifest import Progress
from hakoiri.worker.spaces.listing import listed


def listed_in_order(session: Session, low: Key, size: int) -> Iterator[Keys]:
    """Yield the configurations from `low` on, before which there are `size`, and report how many these are.

    Raises `ContradictionError` for a list that is empty or not in increasing order, and `StopRun`.
    """
    puzzle, last = session.puzzle, low - 1
    for keys in listed(puzzle, low, puzzle.layout.greatest + 1):
        session.control.check()
        if not is_increasing(keys) or key_at(keys, 0) <= last:
            raise ContradictionError(f"{puzzle.name} does not list its configurations in increasing order")
        last, size = key_at(keys, -1), size + len(keys)
        yield keys
        session.tell(Progress(size, headline="listing configurations"))
    if not size:
        raise ContradictionError(f"{puzzle.name} lists no configurations")
