"""The solutions of a tree, as a run has them."""

from collections.abc import Iterator

from coordinator.errors import UnanswerableError
from puzzles.capabilities import Placements
from puzzles.errors import Step
from puzzles.keys.layout import Keys
from storage.layers.store import RunStore
from storage.names import FOUND
from storage.results.subtrees import read_chunk, read_cutting, require_found

#: The options of a tree that change how it is searched and what is stored, but not its solutions.
STRATEGY, KEEPING = "strategy", "solutions"


def found_solutions(store: RunStore, puzzle: Placements) -> Iterator[Keys]:
    """The least image of one solution of each orbit, batch by batch; in increasing order when the run is complete.

    Of a run that is not, what its chunks found up to now. Raises `UnanswerableError` if the run keeps none.
    """
    run = store.manifest.run
    if not puzzle.keeps:
        text = f"run {run} counted its solutions and kept none; run it again to have them"
        raise UnanswerableError(text, Step("give", "option", f"{KEEPING}=keep"))
    cutting = read_cutting(store)
    if cutting is None:
        return
    if store.state.depth > cutting.depth:
        store.require_whole(store.state.depth)
        yield from store.blocks(store.state.depth)
        return
    for name in store.names(FOUND):
        # A chunk's blocks stand together; its record is looked at before the first of them.
        chunk = int.from_bytes(name[:4], "big")
        if name == store.names(FOUND, name[:4])[0]:
            require_found(store, read_chunk(store, chunk))
            yield from store.blocks(chunk, database=FOUND)
