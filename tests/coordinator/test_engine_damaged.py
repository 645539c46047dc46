"""Runs of every layout damaged where a long layer leaves its traces: said, never taken for something else, mended."""

from pathlib import Path
from random import Random

import pytest

from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import DamagedError, Hint
from hakoiri.puzzles.registry import PUZZLES
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.names import BLOCKS, CLOSED, META, PARTIAL_KEY, SPILL_FOLDER, number_key
from hakoiri.worker.layers.closed_set import ClosedSet
from hakoiri.worker.layers.step import Partial
from tests.support.refusals import refused
from tests.support.runs import Countdown
from tests.support.seeds import usual
from tests.support.toy_runs import MANNERS, assert_as_expected, before_call, driven, expected, new_run

LAYOUTS_AND_KEYS = [("u32", "clumped"), ("u64", "high"), ("u128", "clumped"), ("u256", "spread")]
kinds = pytest.mark.parametrize("directed", ["no", "yes"])
layouts = pytest.mark.parametrize(("layout", "keys"), LAYOUTS_AND_KEYS)

#: A run whose books are wrong may go on for ever.
pytestmark = pytest.mark.timeout(120)


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy is among the puzzles."""
    monkeypatch.setitem(PUZZLES, "toy", "tests.support.toy:Toy")


@pytest.fixture
def options(layout: str, keys: str, directed: str) -> dict[str, str]:
    """A toy of a few hundred configurations."""
    return {"layout": layout, "keys": keys, "directed": directed, "size": "400"}


def repaired(directory: Path, resources: Resources) -> None:
    assert drive(directory, resources, Control(), SilentObserver(), repair=True).status == "complete"


def interrupted(directory: Path, resources: Resources, owner: type, method: str, number: int) -> None:
    """Drive a run up to a certain call."""
    control = Control()
    with pytest.MonkeyPatch.context() as patch:
        before_call(patch, owner, method, Countdown(number, lambda: control.interrupt("enough")))
        assert driven(directory, resources, control).status == "interrupted"


def mending(directory: Path) -> tuple[Hint, Hint]:
    """Return the hints for damaged layers."""
    return Hint("verify", directory.name), Hint("repair", directory.name)


def lose_entry(directory: Path, database: bytes, prefix: bytes, which: int = 0) -> None:
    with RunStore(directory, writable=True) as store:
        store.erase(database, store.names(database, prefix)[which])
        store.commit(store.state)


@pytest.mark.ci_slow
@kinds
@layouts
@pytest.mark.parametrize("depths", [[3], [0, 2, 4, 5]], ids=str)
def test_lost_blocks_are_computed_again(
    depths: list[int], options: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources = MANNERS["spilling"].take(monkeypatch, options["layout"])
    directory = new_run(tmp_path, options)
    driven(directory, resources)
    for depth in depths:
        lose_entry(directory, BLOCKS, number_key(depth), -1)
    with RunStore(directory) as store:
        for depth in depths:
            with refused(DamagedError, f"layer {depth} ", *mending(directory)):
                store.layer(depth)
    repaired(directory, resources)
    with RunStore(directory) as store:
        found = [(record.size, record.digest, record.goals) for record in store.layer_records()]
        assert found == expected(**options).records
        for depth in depths:
            store.layer(depth)


@kinds
@usual(1, ("layout", "keys"), LAYOUTS_AND_KEYS[::3])
@usual(1, "manner", ["starving", "default"])
@usual(1, "back", [0, 1])
def test_a_search_does_not_set_out_from_a_layer_with_a_lost_block(
    back: int, manner: str, options: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources = MANNERS["durable"].take(monkeypatch, options["layout"])
    directory = new_run(tmp_path, options)
    interrupted(directory, resources, Spill, "sync", 4)
    with RunStore(directory, writable=True) as store:
        depth = store.state.depth
        assert depth > 2
        # As if the interruption had come before the layer was begun.
        store.erase(META, PARTIAL_KEY)
        store.erase(BLOCKS, number_key(depth + 1))
        store.commit(store.state)
    lose_entry(directory, BLOCKS, number_key(depth - back), -1)
    resources = MANNERS[manner].take(monkeypatch, options["layout"])
    with pytest.raises(DamagedError, match=f"layer {depth - back}"):
        driven(directory, resources)
    with RunStore(directory) as store:
        assert (store.state.status, store.state.depth) == ("interrupted", depth)
    repaired(directory, resources)
    assert_as_expected(directory, options)


@pytest.mark.ci_slow
@pytest.mark.parametrize(("layout", "keys", "directed"), [("u32", "clumped", "yes"), ("u256", "spread", "yes")])
@pytest.mark.parametrize("how", ["lost", "spoiled"])
def test_damaged_runs_of_older_keys_are_made_again(
    how: str, options: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources = MANNERS["spilling"].take(monkeypatch, options["layout"])
    directory = new_run(tmp_path, options)
    interrupted(directory, resources, ClosedSet, "add", 7)
    with RunStore(directory, writable=True) as store:
        names = store.names(CLOSED)
        value = store.read(CLOSED, names[-1])
        assert value
        if how == "lost":
            store.erase(CLOSED, names[-1])
        else:
            store.stage(CLOSED, names[-1], value[:-1] + bytes([value[-1] ^ 4]))
        store.commit(store.state)
    with refused(DamagedError, "damaged", *mending(directory)):
        driven(directory, resources)
    repaired(directory, resources)
    assert_as_expected(directory, options)


@kinds
@usual(1, ("layout", "keys"), LAYOUTS_AND_KEYS[1:3])
@usual(1, "how", ["lost", "short", "spoiled"])
def test_a_damaged_spill_file_is_named_and_its_layer_computed_again(
    how: str, options: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources = MANNERS["durable"].take(monkeypatch, options["layout"])
    directory, rng = new_run(tmp_path, options), Random(str(options))
    interrupted(directory, resources, Spill, "sync", 4)
    with RunStore(directory) as store:
        partial = store.read_partial(Partial)
    assert partial is not None
    lengths = partial.spilled.lengths
    number = rng.choice(sorted(lengths))
    name = f"{partial.depth}-{number}"
    path = directory / SPILL_FOLDER / name
    content = bytearray(path.read_bytes()[: lengths[number]])
    if how == "lost":
        path.unlink()
    elif how == "short":
        path.write_bytes(content[: rng.randrange(len(content))])
    else:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
    words = f"spill file {name} of run {directory.name} "
    with refused(DamagedError, words, Hint("repair", directory.name)):
        driven(directory, resources)
    repaired(directory, resources)
    assert_as_expected(directory, options)
