"""Random configurations: each is drawn by as many random numbers as any other, and a seed draws the same again."""

from collections import Counter
from contextlib import suppress

import numpy as np
import pytest

from hakoiri.api import Run
from hakoiri.keys.layout import Keys, ints
from hakoiri.run import opened
from hakoiri.storage.layers.blocks import Block


@pytest.mark.ci_slow
def test_every_configuration_is_drawn_by_as_many_numbers(small_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has one pair of numbers for its block, of 5 keys here, and its place; layers have as many as keys."""
    layers = {depth: small_run.layer(depth) for depth in (20, 21, 22)}
    store, total = small_run.store, sum(map(len, layers.values()))

    def coded(depth: int, firsts: list[int]) -> list[Block]:
        begin = ints(layers[depth]).index(firsts[0])
        return [Block(depth, begin, len(layers[depth][begin : begin + 5]), b"")]

    def decode(block: Block) -> Keys:
        return layers[block.number][block.first : block.first + 5]

    monkeypatch.setattr(store, "first_keys", lambda depth: ints(layers[depth])[::5])
    monkeypatch.setattr(store, "coded", coded)
    monkeypatch.setattr(store, "decode", decode)
    drawn = Counter[tuple[int, int]]()
    most = max(map(len, layers.values()))
    for chosen in np.ndindex(total, -(-most // 5), most):
        depth = 20 + int(np.searchsorted(np.cumsum([*map(len, layers.values())]), chosen[0], "right"))
        size = len(layers[depth])
        if chosen[1] < -(-size // 5) and chosen[2] < size:
            monkeypatch.setattr(opened, "random_words", lambda _, words=chosen: iter(words))
            with suppress(StopIteration):
                drawn.update(small_run.sample(1, (20, 22)))
    assert drawn == {(depth, key): len(keys) for depth, keys in layers.items() for key in ints(keys)}


@pytest.mark.ci_slow
def test_a_seed_draws_the_same_again(small_run: Run, whole_run: Run) -> None:
    for run, layers in ((small_run, (5, 9)), (whole_run, None)):
        drawn = run.sample(50, layers, seed=3)
        assert drawn == run.sample(50, layers, seed=3) != run.sample(50, layers, seed=4)
        assert all(run.store.find(key) == depth for depth, key in drawn)
