"""Given runs whose records were forged, with right checksums: commands answer or refuse in one line, and end."""

import shutil
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from hakoiri.coordinator.runs.kinds import KINDS, kind_class
from hakoiri.errors import HakoiriError
from hakoiri.puzzles.permutation.tiles import Tiles
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage import names
from hakoiri.storage.layers.depths import BLOCK_KEYS
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import pack_record, seal
from tests.support.commands import Hakoiri
from tests.support.forged import bounded
from tests.support.runs import driven

TILES = PuzzleSpec("tiles", {"rows": "2", "columns": "3", "blank": "first"}, ".12/345")
KEEPS = ("layers", "frontier", "depths")
#: Forged runs of each `keep` in the default suite and with the slow tests.
FEW, MANY = 3, 500
_VALUES: tuple[Any, ...] = (
    -(1 << 63), -1, 0, 1, 2, 7, 1 << 16, (1 << 31) - 1, 1 << 32, (1 << 63) - 1, (1 << 64) - 1, 0.5, float("nan"),
    float("inf"), "", "x", "depths", "frontier", "layers", "explore", "census", "tree", "hardest", "hunt", "optimise",
    "klotski", "gap", "magic-star", "uint64", "\n2026 forged: line", True, None, [], {}, [1], {"a": 1},
)  # fmt: skip
COMMANDS = (
    ("status", "{run}"), ("layers", "{run}"), ("distance", "{run}", "54./321"), ("path", "{run}", "--to", "54./321"),
    ("path", "{run}"), ("path", "{run}", "--to", "farthest"), ("components", "{run}"), ("diameter", "{run}"),
    ("verify", "{run}", "--memory", "100MB"),
)  # fmt: skip


def forge(directory: Path, rng: Random) -> str:
    """Change a field of a record, or add a block to the table of depths; return what was done."""
    with Ledger(directory, writable=True) as ledger:
        if rng.random() < 0.1:
            name = rng.choice([b"\0", b"\xff" * 4, b"\0\0\0\x02", b"\0" * 9])
            ledger._environment.write([(names.CLOSED, name, rng.randbytes(rng.choice([0, 4, 65_540])))])
            return f"block {name.hex()} of the table"
        layers = [(names.LAYERS, name) for name in ledger.names(names.LAYERS)]
        database, name = rng.choice([(names.META, name) for name in ledger.names(names.META)] * 8 + layers)
        with suppress(HakoiriError):
            fields = ledger.read_record(database, name, "record")
            field = rng.choice(sorted(fields) or ["first"])
            value, inner = rng.choice(_VALUES), fields.get(field)
            if isinstance(inner, dict) and inner and rng.random() < 0.7:
                value = inner | {rng.choice(sorted(inner)): value}
            ledger._environment.write([(database, name, pack_record(fields | {field: value}, database + name))])
            return f"{name!r}: {field} = {value!r}"
    return "nothing"


@pytest.mark.parametrize(
    ("keep", "count"),
    [*((keep, FEW) for keep in KEEPS), *(pytest.param(k, MANY, marks=pytest.mark.slow) for k in KEEPS)],
)
def test_a_forged_record_is_refused_in_one_line_or_does_no_harm(keep: str, count: int, hakoiri: Hakoiri) -> None:
    plan = {} if keep == "layers" else {"keep": keep}
    original = driven(hakoiri.data, TILES, "explore", plan, {})
    whole = original.rename(original.parent.parent / "whole")
    rng = Random(KEEPS.index(keep))
    for number in range(count):
        shutil.copytree(whole, original)
        done = forge(original, rng)
        for command in COMMANDS if count > FEW else rng.sample(COMMANDS, 3):
            with bounded((number, done, command)):
                finished = hakoiri.here(*(word.format(run=original.name) for word in command), check=False)
            said = f"{number}: {done}: {finished.arguments}: {finished.stderr[-1000:]}"
            assert "Traceback" not in finished.stderr and finished.code in (0, 1, 2), said
            assert not any(
                line.startswith("2026 forged") for line in (finished.stdout + finished.stderr).split("\n")
            ), said
        shutil.rmtree(original)


def set_field(directory: Path, database: bytes, name: bytes, **changed: Any) -> None:
    """Change fields of a record, with a right checksum."""
    with Ledger(directory, writable=True) as ledger:
        fields = ledger.read_record(database, name, "record") | changed
        ledger._environment.write([(database, name, pack_record(fields, database + name))])


@pytest.mark.ci_slow
@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"explore"}))
def test_a_kind_that_the_puzzle_has_not_is_refused(kind: str, hakoiri: Hakoiri) -> None:
    run = driven(hakoiri.data, TILES, "explore", {}, {})
    set_field(run, names.META, b"manifest", mode=kind)
    for command in COMMANDS:
        asked = hakoiri.here(*(word.format(run=run.name) for word in command), check=False)
        assert "Traceback" not in asked.stderr and asked.code in (0, 1), asked
        # Those that do not build the puzzle show the records.
        if not kind_class(kind).may_be_of(Tiles) and command[0] in ("path", "verify", "components"):
            assert f"the puzzle tiles has no runs of its kind, {kind}" in asked.stdout + asked.stderr, asked


def test_a_layer_that_alone_represents_configurations_is_shown(hakoiri: Hakoiri) -> None:
    run = driven(hakoiri.data, TILES, "explore", {"layers": 2}, {})
    set_field(run, names.LAYERS, names.number_key(1), represented=7)
    shown = [line.split()[:4] for line in hakoiri.here("layers", run.name).stdout.splitlines()]
    assert ["1", "2", "7"] in [cells[:3] for cells in shown]


@pytest.mark.parametrize(
    ("database", "name", "field", "value", "commands"),
    [
        (names.LAYERS, names.number_key(1), "work", {"a": 1}, ("layers {run}", "layers {run} --json", "verify {run}")),
        (names.META, b"state", "work_log", {"hosts": 5}, ("status {run}", "resume {run}", "layers {run}")),
        (names.META, b"state", "work_log", {"expanders": {"": [1, 2]}}, ("status {run} --json", "resume {run}")),
        (names.META, b"state", "figures", {"goal_depth": "x"}, ("status {run}", "layers {run}", "resume {run}")),
    ],
)
def test_counts_have_their_types(
    database: bytes, name: bytes, field: str, value: object, commands: tuple[str, ...], hakoiri: Hakoiri
) -> None:
    run = driven(hakoiri.data, TILES, "explore", {"layers": 2}, {})
    set_field(run, database, name, **{field: value})
    for command in commands:
        asked = hakoiri.here(*command.format(run=run.name).split(), check=False)
        assert asked.code == 1 and "malformed" in asked.stdout + asked.stderr, asked
        assert "Traceback" not in asked.stderr, asked


@pytest.mark.ci_slow
@pytest.mark.parametrize("command", ["layers", "verify", "resume"])
def test_the_record_of_another_layer_is_refused(command: str, hakoiri: Hakoiri) -> None:
    run = driven(hakoiri.data, TILES, "explore", {"keep": "frontier"}, {})
    set_field(run, names.LAYERS, names.number_key(21), depth=3)
    asked = hakoiri.here(command, run.name, check=False)
    assert asked.code == 1 and "the record of layer 21 is of layer 3" in asked.stdout + asked.stderr, asked
    assert "Traceback" not in asked.stderr, asked


@pytest.mark.ci_slow
@pytest.mark.parametrize("field", ["goals", "size"])
def test_a_layer_that_lacks_what_its_record_counts_is_refused(field: str, hakoiri: Hakoiri) -> None:
    run = driven(hakoiri.data, TILES, "explore", {}, {})
    set_field(run, names.LAYERS, names.number_key(21), **{field: 7})
    set_field(run, names.LAYERS, names.number_key(0), goals=0)
    set_field(run, names.META, b"state", figures={"configurations": 360, "goal_depth": 21, "depth": 21})
    for command in (("path", run.name), ("path", run.name, "--to", "farthest"), ("diameter", run.name)):
        asked = hakoiri.here(*command, check=False)
        assert "Traceback" not in asked.stderr and asked.code in (0, 1), asked
    assert "the configurations that its record counts" in hakoiri.here("path", run.name, check=False).error


@pytest.mark.ci_slow
@pytest.mark.parametrize("keep", KEEPS)
def test_a_run_without_figures_goes_on(keep: str, hakoiri: Hakoiri) -> None:
    run = driven(hakoiri.data, TILES, "explore", {"keep": keep, "layers": 9}, {})
    set_field(run, names.META, b"state", figures={}, status="interrupted")
    set_field(run, names.META, b"manifest", plan={"keep": keep} if keep != "layers" else {})
    for command in ("resume", "status", "layers", "verify"):
        asked = hakoiri.here(command, run.name, check=False)
        assert "Traceback" not in asked.stderr and asked.code in (0, 1), asked


@pytest.mark.ci_slow
def test_a_block_without_depths_is_verified(hakoiri: Hakoiri) -> None:
    run, name = driven(hakoiri.data, TILES, "explore", {"keep": "depths"}, {}), names.number_key(0)
    with Ledger(run, writable=True) as ledger:
        ledger._environment.write([(names.CLOSED, name, seal(bytes(BLOCK_KEYS // 4), names.CLOSED + name))])
    verified = hakoiri.here("verify", run.name, "--json", check=False)
    assert (verified.code, verified.json["ok"]) == (1, False), verified


@pytest.mark.ci_slow
def test_sizes_of_layers_that_are_too_large_are_faults(hakoiri: Hakoiri) -> None:
    """The sums of the layers' sizes, by which the table of depths is checked, have more than 64 bits."""
    run = driven(hakoiri.data, TILES, "explore", {"keep": "depths"}, {})
    for depth in range(7):
        set_field(run, names.LAYERS, names.number_key(depth), size=(1 << 63) - 1)
    verified = hakoiri.here("verify", run.name, "--json", check=False)
    assert (verified.code, verified.json["ok"]) == (1, False), verified
    assert any("the table of depths has" in fault for fault in verified.json["faults"]), verified
