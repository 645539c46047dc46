"""Runs on disk without a search: made of random keys, and read through in another process."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from multiprocessing import Pipe
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hakoiri.errors import DamagedError, StorageError
from hakoiri.keys.layout import Keys, Layout, layout_of
from hakoiri.storage.layers.audit import LayersAudit, Sample
from hakoiri.storage.layers.blocks import code_keys
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth, Manifest
from hakoiri.storage.names import FORMAT_VERSION, block_key
from tests.support.forking import SERVER

#: The sample that `audited` takes of each layer.
SAMPLE = Sample(seed=7, wanted=100)


def audited(store: RunStore, together: int) -> LayersAudit:
    """A finished audit of all layers of a run, in ranges of so many keys; all keys are goals."""
    depths = list(range(store.state.depth + 1))
    audit = LayersAudit(store, depths, lambda keys: (len(keys), 2 * len(keys)), SAMPLE)
    for bounds in reversed(audit.ranges(together)):
        audit.check(bounds)
    audit.finish()
    return audit


def manifest(run: str = "a-run", layout: str = "u32", version: int = FORMAT_VERSION) -> Manifest:
    puzzle = {"name": "klotski", "options": {"metric": "unit"}, "start": None, "merge_mirrors": False}
    return Manifest(version, run, "2026-11-21 10:00:00", puzzle, 1, layout, "explore")


def entries_of(depth: Depth, keys: Keys) -> list[tuple[bytes, bytes]]:
    """The names and values of a layer in LMDB."""
    blocks = code_keys(depth, keys).blocks(depth)
    return [(block_key(depth, block.first, layout_of(keys).bytes), bytes(block.value)) for block in blocks]


def commit_layers(directory: Path, layers: list[Keys]) -> None:
    with RunStore(directory, writable=True) as store:
        for depth, layer in enumerate(layers):
            store.put_layer(depth, layer, goals=depth)
        store.commit(replace(store.state, depth=len(layers) - 1, session=3))


def random_layers(layout: Layout, sizes: list[int], seed: int) -> list[Keys]:
    """Disjoint strictly increasing layers; the least and the greatest key are among them."""
    rng, count = np.random.default_rng(seed), sum(sizes)
    raw = rng.integers(0, 256, (count + count // 4 + 9, layout.bytes), dtype=np.uint8)
    # So many of them that many wide keys share their first word.
    raw[::4, : layout.bytes // 2] %= 2
    distinct = {0, layout.greatest, *(int.from_bytes(row, "big") for row in raw.tolist())} - {0, layout.greatest}
    chosen = rng.permutation(np.array(sorted(distinct), dtype=object))[: count - 2].tolist()
    keys = [0, layout.greatest, *chosen]
    ends = np.cumsum(sizes).tolist()
    return [layout.pack(sorted(keys[end - size : end])) for end, size in zip(ends, sizes, strict=True)]


if TYPE_CHECKING:
    from multiprocessing.connection import Connection


def read_elsewhere(directories: Sequence[Path], asked: Sequence[int] = ()) -> list[dict[str, Any]]:
    """Return the answers of each run: its ``status``, ``depth``, and per layer its keys or ``"damaged"``.

    ``found`` has for each key of `asked` the depth where the run finds it, ``None`` or ``"damaged"``.
    Instead ``error`` for a run that is refused as a whole, ``escaped`` for any other exception, ``died`` for a signal.
    """
    found: list[dict[str, Any]] = []
    while len(found) < len(directories):
        ours, theirs = Pipe(duplex=False)
        with ours:
            process = SERVER.Process(target=_read_all, args=(directories[len(found) :], list(asked), theirs))
            process.start()
            theirs.close()
            try:
                while len(found) < len(directories):
                    found.append(ours.recv())
            except EOFError:
                process.join()
                found.append({"died": process.exitcode})
            process.join()
    return found


def _read_all(directories: Sequence[Path], asked: list[int], answers: "Connection") -> None:
    for directory in directories:
        answers.send(_read(directory, asked))


def _read(directory: Path, asked: list[int]) -> dict[str, Any]:
    def layer(depth: int) -> list[Any]:
        record = store.layer_record(depth)
        return [store.layer(depth).tolist(), record.size, record.digest, record.goals]

    def answer(question: Callable[[int], Any], about: int) -> Any:
        try:
            return question(about)
        except DamagedError:
            return "damaged"

    try:
        with RunStore(directory) as store:
            state = store.read_state()
            layers = [answer(layer, depth) for depth in range(state.depth + 1)]
            found = [answer(store.find, key) for key in asked]
            return {"status": state.status, "depth": state.depth, "layers": layers, "found": found}
    except StorageError as error:
        return {"error": str(error)}
    except Exception as error:
        return {"escaped": repr(error)}
