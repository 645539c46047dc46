"""Runs and chunks of others, with keys that are not configurations: refused in one line, never a signal."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hakoiri.keys.layout import Keys, Layout
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.names import BLOCKS, LAYERS, number_key
from hakoiri.worker.transport.payload import Arrays
from tests.support.commands import START_OF_248, Hakoiri

#: Small runs of the puzzles whose kernels look up parts of a key in tables.
RUNS = {
    "klotski": ["klotski", "--from", START_OF_248, "-o", "metric=finger"],
    "sliding": ["sliding", "--from", "AA./B.C/DDE", "-o", "goal=E@1,2"],
    "tiles": ["tiles", "-o", "rows=2", "-o", "columns=3"],
    "cube2": ["cube2", "--layers", "3"],
    "gap": ["gap", "-o", "ranks=3"],
    "peg-solitaire": ["peg-solitaire", "--layers", "5"],
}


def wrong_keys(layout: Layout, count: int, seed: int) -> Keys:
    """Increasing keys of the whole width."""
    rng = np.random.default_rng(seed)
    raw = np.unique(rng.integers(0, 256, (count, layout.bytes), dtype=np.uint8), axis=0)
    return layout.from_big_endian(raw.tobytes())


def forge(directory: Path, seed: int, stopped: bool = False) -> None:
    """Give all layers but the first wrong keys, with right checksums; let the run have been `stopped` at layer 2."""
    with RunLock(directory), RunStore(directory, writable=True) as store:
        deepest = 2 if stopped else store.state.depth
        for depth in range(1, store.state.depth + 1):
            size = store.layer_record(depth).size
            store.erase(BLOCKS, number_key(depth))
            store.erase(LAYERS, number_key(depth))
            if depth <= deepest:
                store.put_layer(depth, wrong_keys(store.layout, size, seed), goals=1)
        status = "interrupted" if stopped else store.state.status
        store.commit(replace(store.state, depth=deepest, status=status))


@pytest.mark.parametrize("name", RUNS)
def test_a_run_with_wrong_keys_is_refused_in_one_line(name: str, hakoiri: Hakoiri, tmp_path: Path) -> None:
    run = hakoiri.ask("run", *RUNS[name])["run"]
    forge(hakoiri.data / run, seed=len(name))
    whole = [] if "--layers" in RUNS[name] else ["path last --to farthest", "map last --to map.svg"]
    for question in (*whole, "export last --to keys.npz", "layers last --depth 2"):
        refused = hakoiri(*question.split(), check=False, cwd=tmp_path)
        assert refused.code == 1, refused
        assert f"run {run}: layer " in refused.error and f", which is not a configuration of {name}" in refused.error
        assert f"hakoiri verify {run}" in refused.error
    verified = hakoiri("verify", "last", check=False)
    assert verified.code == 1 and f"is not a configuration of {name}" in verified.stdout, verified


@pytest.mark.parametrize("name", RUNS)
def test_a_run_with_wrong_keys_is_not_resumed(name: str, hakoiri: Hakoiri) -> None:
    run = hakoiri.ask("run", *RUNS[name])["run"]
    forge(hakoiri.data / run, seed=len(name), stopped=True)
    refused = hakoiri("resume", "last", check=False)
    assert refused.code == 1, refused
    assert f", which is not a configuration of {name}" in refused.error
    assert hakoiri.ask("status", "last")["status"] == "interrupted"


CUBE = PuzzleSpec("cube2")
FAR = np.full(50, 2**31 - 1, dtype=np.int32)
EDGE: list[Any] = [np.array([0, 1, 2], dtype=np.int64), np.array([1, 0], dtype=np.int32)]
ONE = np.zeros(1, dtype=np.int32)
CHUNKS: list[tuple[str, Arrays, Arrays]] = [
    ("neighbours", [], [wrong_keys(CUBE.build().layout, 500, seed=1)]),
    ("derive", [], [wrong_keys(CUBE.build().layout, 500, seed=2)]),
    ("goals", [np.array([0, 0, 1 << 40, 0, 0, 0], dtype=np.int64)], [CUBE.build().keys([0, 1])]),
    ("searches", [EDGE[0], FAR[:2]], [ONE]),
    ("searches", [np.array([0, 1 << 50, 1 << 51], dtype=np.int64), EDGE[1]], [ONE]),
    ("searches", EDGE, [FAR]),
    ("look", EDGE, [FAR, np.zeros(1, dtype=np.uint8), np.array([2])]),
    ("diameters", [], [*EDGE, np.array([0, 1 << 40])]),
]
