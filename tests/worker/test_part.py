"""Layers made by hosts in this process, over a real Redis: those of a plain search, in much memory and in little."""

import math
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hakoiri.keys.layout import Key, ints
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from hakoiri.storage.layers.blocks import Block, count_of, decode
from hakoiri.storage.ledger.manifest import Manifest
from hakoiri.storage.names import FORMAT_VERSION
from hakoiri.worker.hosts import part, step, wire
from hakoiri.worker.hosts.host import Host
from hakoiri.worker.hosts.requests import HostExpanded, HostMerged, HostRequest
from hakoiri.worker.layers.partition import partition_by
from hakoiri.worker.layers.step import RangeStep
from hakoiri.worker.transport.data_redis import DataRedisPool
from hakoiri.worker.transport.payload import Array, unpacked
from tests.support.servers import RedisServer
from tests.support.toy_runs import EMBEDDINGS, expected, spied

NAMES = ["a", "b", "c"]
USUAL = {("u32", "clumped"), ("u64", "spread"), ("u128", "spread"), ("u256", "clumped")}


def searches() -> Iterator[Any]:
    """The usual ones directed with much memory and undirected with little, or the other way round; the rest is slow."""
    for number, (layout, keys) in enumerate(EMBEDDINGS):
        for least, directed in product((24_000_000, 600), ("no", "yes")):
            chosen = (layout, keys) in USUAL and (least == 600) == ((directed == "no") == bool(number % 2))
            yield pytest.param(layout, keys, least, directed, marks=() if chosen else pytest.mark.slow)


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[tuple[list[Host], DataRedisPool]]:
    """Three hosts of two threads, and the one Redis in which their messages lie."""
    with ExitStack() as stack:
        server = stack.enter_context(RedisServer(tmp_path / "redis"))
        yield [stack.enter_context(closing(Host(tmp_path / name, 2))) for name in NAMES], DataRedisPool(server.client)


@pytest.mark.parametrize(("layout", "keys", "least", "directed"), list(searches()))
def test_the_layers_are_those_of_a_plain_search(
    layout: str, keys: str, least: int, directed: str, hosts: tuple[list[Host], DataRedisPool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setitem(PUZZLES, "toy", ("tests.support.toy", "Toy"))
    monkeypatch.setattr(part, "LEAST_BYTES", least)
    # Sending is taken to be fast, or so slow that hosts send as soon as their ranges allow.
    early = directed == "yes"
    monkeypatch.setattr(wire, "_SLOW", -1.0 if early else 2.0)
    monkeypatch.setattr(wire, "_SLOW_SECONDS", -1.0)
    monkeypatch.setattr(wire, "MOST_SENDING", math.inf)
    monkeypatch.setattr(step, "PARTS", 1_000)
    sends = spied(monkeypatch, (RangeStep, "send_away"))
    spec = PuzzleSpec("toy", {"layout": layout, "keys": keys, "directed": directed, "size": "400"})
    puzzle, right = spec.build(), expected(layout, keys, directed, "400")
    everything = puzzle.layout.pack(sorted(key for layer in right.layers for key in layer))
    partition = partition_by(everything, 7)
    manifest = Manifest(FORMAT_VERSION, "run", "", spec.as_dict(), 1, layout, "explore").as_dict()
    owners = [number % len(NAMES) for number in range(partition.ranges)]
    request = HostRequest(
        manifest, NAMES, 0, [0] * len(NAMES), partition.packed, owners, 1, memory=1, round_seconds=60.0
    )

    def ask(task: str, number: int, *arrays: Array, **changes: Any) -> list[Array]:
        mine = replace(request, me=number, **changes)
        return hosts[0][number].perform(task, puzzle, "session", mine.arrays(*arrays), hosts[1])

    everybody, spilled, sent = range(len(NAMES)), 0, 0
    for number in everybody:
        ask("host-take", number, puzzle.layout.pack(right.layers[0]))
    for depth, layer in enumerate([*right.layers[1:], []], 1):
        told = [unpacked(ask("host-expand", n, depth=depth, attempt=depth), HostExpanded) for n in everybody]
        assert sum(answer.size for answer in told) == len(right.layers[depth - 1])
        merged = []
        for number in everybody:
            waits = [answer.sent[number] for answer in told]
            answer = ask("host-merge", number, depth=depth, attempt=depth, round=1, expected=waits)
            merged.append(unpacked(answer, HostMerged))
        assert sum(answer.size for answer in merged) == len(layer)
        found: list[Key] = []
        for number in everybody:
            firsts, _ = ask("host-index", number, depth=depth)
            # Who asks may have every other block already.
            for wanted in filter(len, (firsts[::2], firsts[1::2])):
                lengths, data = ask("host-give", number, wanted, depth=depth)
                for first, value in zip(ints(wanted), np.split(data, np.cumsum(lengths)[:-1]), strict=True):
                    block = Block(depth, first, count_of(value.tobytes()), value.tobytes())
                    found += ints(decode(block, puzzle.layout))
        assert sorted(found) == layer
        spilled += sum(answer.spilled for answer in merged)
        sent += sum(answer.bytes for answer in told)
    # Where all keys lie close together there is one range, and dense ones fit in a bitmap.
    assert (sent > 0) == (partition.ranges > 1)
    assert sends.total() > len(NAMES) * len(right.layers) if early and sent else sends.total() <= 3 * len(right.layers)
    assert spilled > 0 if keys == "spread" and least == 600 else keys != "spread" or not spilled
