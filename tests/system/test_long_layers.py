"""Long layers as real processes: killed, stopped, short of memory and of disk, damaged in the middle of a layer.

Whoever goes on, and in whatever budget, arrives at the digests of a run that nobody disturbed, and leaves no scratch.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from hakoiri.errors import StorageError
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import LayerRecord, State
from hakoiri.storage.names import CLOSED, DATA_FILE, SPILL_FOLDER
from tests.support.commands import HAKOIRI, Hakoiri, Running, wait_until
from tests.support.disks import KINDS, small_disk
from tests.support.process_setup import stand_still, stand_still_after_layer
from tests.support.seeds import seeds
from tests.support.servers import RedisServer, started_host

pytestmark = pytest.mark.ci_slow

#: Layers 7 to 9 have 93,585, 132,697 and 79,379 configurations.
PANCAKES = ("pancakes", "-o", "n=9")
#: Layers 8 to 10 have 480,467, 166,276 and 2,457 configurations, and 870,072, 1,887,748 and 623,800.
PYRAMINX, CUBE = ("pyraminx",), ("cube2",)
#: The layer that takes most of the work, or nearly.
LONGEST = {PANCAKES: 8, PYRAMINX: 9, CUBE: 9}
#: A board in the middle of a game, so that 1,112,384 boards are left, up to 173,122 in a layer (the 13th).
PEGS = ("peg-solitaire", "--from", "##***##/##*.*##/*******/***.*.*/**..***/##*..##/##***##")
#: Four of its layers have more than 20 million configurations.
TILES = ("tiles", "-o", "rows=3", "-o", "columns=4")
#: Less than a layer step takes at least, with room for a puzzle's tables: nearly everything passes through the disk. In
#: chunks that take a moment each.
TIGHT = ("--memory", "8MB", "--farm", "1")
STARVED = (*TIGHT, "--chunk", "4000")
#: To go on at full speed with what was begun in small chunks.
AT_SPEED = ("--chunk", "100000")
#: What a process may take beyond its budget.
BASE_MIB = 150
#: What one command of a test may take on a machine that does much else; the test as a whole has not much more.
LONG_SECONDS = 1500.0
SLOW = [pytest.mark.slow, pytest.mark.timeout(1800)]


Undisturbed = Callable[[tuple[str, ...]], str]
Harm = Callable[[Path, int], None]


#: What runs find that nobody disturbs, as digests.
DIGESTS = {
    PANCAKES: "46438eb98b7aa8cb7e0a8be6ead8852fe38d2c5c32492418fd2ecc2f56cd1664",
    PYRAMINX: "367b36d364c041a5238d4850e5d2c1331d5a2d4e67f82d64791aa3d2b1263c1b",
    CUBE: "89087b2531bf348541c6bcf73a9ea5ee139fa98b82a8a16871ab59efd66c6778",
    PEGS: "e1b4bbe4a0f3e2c84c1dc4f56a780d121ac7163f5833e979ff37f9d44168763c",
}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Undisturbed]:
    """The results of an undisturbed run, computed once if they are not known."""
    hakoiri, known = Hakoiri(tmp_path_factory.mktemp("undisturbed")), dict(DIGESTS)

    def of(space: tuple[str, ...]) -> str:
        if space not in known:
            known[space] = hakoiri.json("run", *space)["digest"]
            hakoiri.here("delete", "last", "--yes")
        return known[space]

    yield of
    hakoiri.close()


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hakoiri, and at the end of stderr its peak resident memory in KiB; what to execute instead.

    A small process starts it: a child's figure begins with the memory of its parent, which would be this one's.
    """
    path = tmp_path_factory.mktemp("measured") / "hakoiri"
    lines = (
        f"#!{sys.executable}",
        "import os, sys",
        f"child = os.spawnv(os.P_NOWAIT, '{HAKOIRI}', ['{HAKOIRI}', *sys.argv[1:]])",
        "_, status, usage = os.wait4(child, 0)",
        "print(usage.ru_maxrss, file=sys.stderr)",
        "sys.exit(os.waitstatus_to_exitcode(status))",
    )
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    path.chmod(0o755)
    return path


# Where a run stands


def standing(directory: Path) -> tuple[State, list[LayerRecord], dict[str, Any]]:
    """State, layers and partial record (or an empty one) of the last commit, read beside whoever drives it."""
    try:
        with Ledger(directory) as ledger:
            return ledger.state, ledger.layer_records(), ledger.read_partial(dict[str, Any]) or {}
    except (FileNotFoundError, StorageError):
        return State(), [], {}


def standing_of(hakoiri: Hakoiri) -> tuple[State, list[LayerRecord], dict[str, Any]]:
    """The same of the only run; empty before there is one."""
    try:
        return standing(hakoiri.run_directory())
    except (FileNotFoundError, ValueError):
        return State(), [], {}


def stood_still(hakoiri: Hakoiri, *command: str, depth: int, what: str) -> Running:
    """A command that stands still where something of layer `depth` is durably `what`, until a signal goes on with it.

    `what` is ``expanded``, at least some of the keys before it, or ``merged``, at least some of its ranges.
    """
    running = hakoiri.start(*command, before=partial(stand_still, depth, what))
    running.stands_still(LONG_SECONDS)
    _, _, found = standing_of(hakoiri)
    assert (found["depth"], found[what]) > (depth, 0)
    return running


def go_on_for(running: Running, seconds: float) -> bool:
    """Let it work for so long; whether it still works then."""
    try:
        running.process.wait(seconds)
    except subprocess.TimeoutExpired:
        return True
    return False


def assert_as_undisturbed(hakoiri: Hakoiri, expected: str) -> None:
    """The only run is complete, its layers are what they would have been, and nothing of its making is left."""
    directory = hakoiri.run_directory()
    state, records, partial = standing(directory)
    digests = "".join(f"{record.digest}\n" for record in records)
    assert (state.status, state.digest) == ("complete", expected)
    assert sha256(digests.encode()).hexdigest() == expected
    assert not partial
    assert not (directory / SPILL_FOLDER).exists()


def progress(records: list[LayerRecord], partial: dict[str, Any]) -> tuple[int, int, int]:
    """Return how much of a run is durable: finished layers, and of the next one finished ranges and expanded keys."""
    assert not partial or partial["depth"] == len(records)
    return len(records), partial.get("merged", 0), partial.get("expanded", 0)


def assert_kept(before: list[LayerRecord], after: list[LayerRecord]) -> None:
    """Check that all committed layers are unchanged."""
    assert after[: len(before)] == before


# Killed


def killed_again_and_again(
    hakoiri: Hakoiri, space: tuple[str, ...], seed: int, stages: list[tuple[int, str]],
    resources: list[tuple[str, ...]], most: float = 0.3,
) -> None:  # fmt: skip
    """Begin a run, and kill it up to `most` seconds after each stage; it goes on, in the next way, where it was."""
    chance, command = random.Random(seed), ("run", *space)
    before: list[LayerRecord] = []
    done = (0, 0, 0)
    for number, (depth, what) in enumerate(stages):
        running = stood_still(hakoiri, *command, *resources[number % len(resources)], depth=depth, what=what)
        running.send(signal.SIGCONT)
        go_on_for(running, chance.uniform(0, most))
        assert running.kill().code == -signal.SIGKILL
        _, records, partial = standing_of(hakoiri)
        assert_kept(before, records)
        now = progress(records, partial)
        assert now >= done, "durable work was lost"
        before, done = records, now
        assert hakoiri.ask("status", "last")["status"] == "interrupted"
        command = ("resume", "last")


@pytest.mark.parametrize(
    ("space", "seed", "most"),
    [(PANCAKES, 1, 0.02), *(pytest.param(CUBE, seed, 0.3, marks=SLOW) for seed in seeds(2, 2, 6))],
)
def test_killed_in_a_long_layer(
    space: tuple[str, ...], seed: int, most: float, hakoiri: Hakoiri, undisturbed: Undisturbed
) -> None:
    expected = undisturbed(space)
    stages = [(LONGEST[space], "merged"), (LONGEST[space] + 1, "expanded")]
    resources = [STARVED, ("--memory", "40MB", "--workers", "1")]
    killed_again_and_again(hakoiri, space, seed, stages, resources, most)
    hakoiri("resume", "last", *AT_SPEED, "--memory", "1GB")
    assert_as_undisturbed(hakoiri, expected)


# Killed, hosts and all


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("driver", ["run", "coordinator"])
def test_everything_killed_in_a_long_layer(
    hakoiri: Hakoiri, undisturbed: Undisturbed, redis_server: RedisServer, tmp_path: Path, driver: str
) -> None:
    """A host, then the driver, then Redis, and the host again: whoever goes on has all that was kept."""
    expected, store = undisturbed(PYRAMINX), tmp_path / "host"
    resources = ("--memory", "8MB", "--farm", "1", "--hosts", "all")
    with started_host(hakoiri, redis_server.url, store) as team:
        # After the layer before the longest one, and after that: however fast the machine is.
        before = partial(stand_still_after_layer, LONGEST[PYRAMINX] - 1, LONGEST[PYRAMINX])
        if driver == "run":
            running = hakoiri.start("run", *PYRAMINX, *resources, "--redis", redis_server.url, before=before)
        else:
            hakoiri.here("enqueue", *PYRAMINX, *resources)
            running = hakoiri.start("coordinator", "--redis", redis_server.url, before=before)
        running.stands_still(LONG_SECONDS)
        os.kill(wait_until(team.pids)[0], signal.SIGKILL)
        running.send(signal.SIGCONT)
        running.stands_still(LONG_SECONDS)
        running.kill()
    _, kept, _ = standing_of(hakoiri)
    redis_server.kill()
    redis_server.start(wipe=True)
    with started_host(hakoiri, redis_server.url, store):
        hakoiri("resume", "last", "--redis", redis_server.url)
        assert hakoiri.ask("verify", "last", "--redis", redis_server.url)["ok"]
    _, records, _ = standing_of(hakoiri)
    assert_kept(kept, records)
    assert [record.session for record in records] == [1] * len(kept) + [2] * (len(records) - len(kept))
    assert_as_undisturbed(hakoiri, expected)


# Stopped


@pytest.mark.parametrize(
    ("space", "number", "what"), [(PANCAKES, signal.SIGINT, "expanded"), (PANCAKES, signal.SIGTERM, "merged")]
)
def test_stopped_in_a_long_layer(
    space: tuple[str, ...], number: signal.Signals, what: str, hakoiri: Hakoiri, undisturbed: Undisturbed
) -> None:
    """It leaves at once, and keeps what it has of the layer."""
    expected, depth = undisturbed(space), LONGEST[space]
    running = stood_still(hakoiri, "run", *space, *STARVED, depth=depth, what=what)
    before = standing_of(hakoiri)[1:]
    running.send(number)
    running.send(signal.SIGCONT)
    assert running.finish().code == 128 + number
    state, records, partial = standing_of(hakoiri)
    assert state.status == "interrupted"
    assert len(records) == depth
    assert progress(records, partial) >= progress(*before)
    hakoiri("resume", "last", *AT_SPEED)
    assert_as_undisturbed(hakoiri, expected)


@pytest.mark.parametrize("what", ["expanded", pytest.param("merged", marks=SLOW)])
def test_cancelled_in_a_long_layer(hakoiri: Hakoiri, undisturbed: Undisturbed, what: str) -> None:
    """The same; what it does from when it is asked until it looks takes a longer one."""
    expected = undisturbed(CUBE)
    running = stood_still(hakoiri, "run", *CUBE, *STARVED, depth=LONGEST[CUBE], what=what)
    before = standing_of(hakoiri)[1:]
    cancelling = hakoiri.start("cancel", "last", "--json")
    with Ledger(hakoiri.run_directory()) as ledger:
        wait_until(ledger.cancel_requested, what="the request")
    running.send(signal.SIGCONT)
    assert cancelling.finish().json["status"] == "cancelled"
    assert running.finish().code == 1
    state, records, partial = standing_of(hakoiri)
    assert state.status == "cancelled"
    assert len(records) == LONGEST[CUBE]
    assert progress(records, partial) >= progress(*before)
    hakoiri("resume", "last", *AT_SPEED)
    assert_as_undisturbed(hakoiri, expected)


# No room


def refused_for_room(hakoiri: Hakoiri, *command: str, data: Path | str = "", **options: Any) -> None:
    """A full disk is told in one line, and the run can be resumed."""
    refused = hakoiri(*command, data=data, check=False, **options)
    assert (refused.code, refused.stdout) == (1, "")
    for words in ("is full", "free some space", "hakoiri resume"):
        assert words in refused.error
    assert hakoiri.ask("status", "last", data=data)["status"] == "interrupted"


@pytest.mark.parametrize("kind", KINDS)
def test_a_disk_that_fills_in_a_long_layer(
    kind: str, hakoiri: Hakoiri, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    """Most of it is taken by spill files. As long as nobody makes room nothing changes; then it goes on."""
    expected = undisturbed(PEGS)
    with small_disk(kind, tmp_path / "disk", 3 << 20) as disk:
        refused_for_room(hakoiri, "run", *PEGS, *STARVED, data=disk.place, before=disk.before)
        (directory,) = disk.place.iterdir()
        _, records, _ = standing(directory)
        assert len(records) in (13, 14)
        refused_for_room(hakoiri, "resume", "last", *STARVED, data=disk.place, before=disk.before)
        assert_kept(records, standing(directory)[1])
        shutil.copytree(directory, hakoiri.data / directory.name)
    hakoiri("resume", "last", *TIGHT, *AT_SPEED)
    assert_as_undisturbed(hakoiri, expected)


# Damaged


@pytest.fixture(scope="module")
def half_done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run killed in the middle of a layer, with spill files that its books know."""
    hakoiri = Hakoiri(tmp_path_factory.mktemp("half-done"))
    stood_still(hakoiri, "run", *PANCAKES, *STARVED, depth=LONGEST[PANCAKES], what="expanded").kill()
    assert standing_of(hakoiri)[2]["spilled"]["lengths"]
    return hakoiri.run_directory()


def spill_file(directory: Path) -> tuple[Path, int]:
    """The longest of the spill files that the books know, and how much of it they know."""
    partial = standing(directory)[2]
    lengths = partial["spilled"]["lengths"]
    name = max(lengths, key=lambda name: lengths[name])
    return directory / SPILL_FOLDER / f"{partial['depth']}-{name}", int(lengths[name])


def flip(place: float) -> Harm:
    """One bit, so far (0 to 1) into what is known of the file."""

    def harm(file: Path, known: int) -> None:
        raw = bytearray(file.read_bytes())
        raw[int(place * (known - 1))] ^= 16
        file.write_bytes(raw)

    return harm


def blank(file: Path, known: int) -> None:
    """Zeroes, as after a power cut."""
    file.write_bytes(bytes(known))


def truncate(file: Path, known: int) -> None:
    os.truncate(file, known - 1)


HARMS: dict[str, Harm] = {
    "first-byte": flip(0), "middle": flip(0.5), "last-byte": flip(1), "blank": blank, "truncated": truncate,
    "gone": lambda file, _: file.unlink(),
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    ["middle", "truncated", *(pytest.param(name, marks=SLOW) for name in sorted({*HARMS} - {"middle", "truncated"}))],
)
def test_a_damaged_spill_file(
    name: str, hakoiri: Hakoiri, undisturbed: Undisturbed, half_done: Path, tmp_path: Path
) -> None:
    """It is refused, as often as one tries, with the next step; that mends it."""
    directory = Path(shutil.copytree(half_done, hakoiri.data / half_done.name))
    HARMS[name](*spill_file(directory))
    _, records, _ = standing(directory)
    for _ in range(2):
        refused = hakoiri("resume", "last", check=False)
        assert (refused.code, refused.stdout) == (1, "")
        for words in ("spill file", "damaged", f"hakoiri resume {half_done.name} --repair"):
            assert words in refused.error
        assert standing(directory)[1] == records
        assert hakoiri.ask("status", "last")["status"] == "interrupted"
    hakoiri("resume", "last", "--repair", *AT_SPEED)
    assert_as_undisturbed(hakoiri, undisturbed(PANCAKES))


def test_without_any_spill_file_the_layer_begins_again(
    hakoiri: Hakoiri, undisturbed: Undisturbed, half_done: Path
) -> None:
    """As in a run that was archived in the midst of a layer."""
    directory = Path(shutil.copytree(half_done, hakoiri.data / half_done.name))
    shutil.rmtree(directory / SPILL_FOLDER)
    hakoiri("resume", "last", *AT_SPEED)
    assert_as_undisturbed(hakoiri, undisturbed(PANCAKES))


def test_what_the_books_do_not_know_does_no_harm(hakoiri: Hakoiri, undisturbed: Undisturbed, half_done: Path) -> None:
    """Data written after the last checkpoint, whole or not: more frames in a file, and other files."""
    directory = Path(shutil.copytree(half_done, hakoiri.data / half_done.name))
    file, known = spill_file(directory)
    with open(file, "ab") as stream:
        stream.write(b"half a frame")
    (directory / SPILL_FOLDER / "100000").write_bytes(b"nothing")
    (directory / SPILL_FOLDER / "stray").write_bytes(file.read_bytes()[:known])
    hakoiri("resume", "last", *AT_SPEED)
    assert_as_undisturbed(hakoiri, undisturbed(PANCAKES))


# Short of memory


def peak_mib(hakoiri: Hakoiri, measured: Path, space: tuple[str, ...], memory: str, expected: str) -> float:
    """The peak resident memory of a run that finds what it must."""
    finished = hakoiri("run", *space, "--memory", memory, "--json", executable=measured, seconds=LONG_SECONDS)
    assert finished.json["digest"] == expected
    return int(finished.stderr.splitlines()[-1]) / 1024


@pytest.mark.parametrize(
    ("space", "memory"),
    [
        (CUBE, 100),
        pytest.param(("hanoi", "-o", "discs=12"), 100, marks=SLOW),
        *(
            pytest.param(space, memory, marks=SLOW)
            for space in (
                ("hanoi", "-o", "discs=13"), ("pancakes", "-o", "n=11"), PEGS, ("peg-solitaire",), TILES,
                ("tiles", "-o", "rows=2", "-o", "columns=6"),
            )
            for memory in (100, 128, 512)
        ),
    ],
    ids=lambda value: value if isinstance(value, int) else "-".join(value[:1] + value[2::2]),
)  # fmt: skip
def test_the_budget_is_kept(
    space: tuple[str, ...], memory: int, hakoiri: Hakoiri, undisturbed: Undisturbed, measured: Path
) -> None:
    assert peak_mib(hakoiri, measured, space, f"{memory}MB", undisturbed(space)) < memory + BASE_MIB


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_question_keeps_to_the_budget(hakoiri: Hakoiri, measured: Path) -> None:
    # 900 MiB before layers went to disk: the search makes nearly all of the 39,916,800 configurations.
    hakoiri("run", "pancakes", "-o", "n=11", "--until-goal")
    far = ("path", "last", "--from", "10 2 8 4 6 1 11 3 9 5 7", "--to", "goal", "--memory", "128MB", "--json")
    found = hakoiri(*far, executable=str(measured), seconds=LONG_SECONDS)
    assert found.json["length"] == 12
    assert int(found.stderr.splitlines()[-1]) / 1024 < 128 + BASE_MIB


@pytest.mark.ci_slow
@pytest.mark.parametrize("seed", [11, *(pytest.param(seed, marks=SLOW) for seed in seeds(12, 2, 6))])
def test_killed_in_a_long_layer_of_a_directed_puzzle(hakoiri: Hakoiri, undisturbed: Undisturbed, seed: int) -> None:
    expected = undisturbed(PEGS)
    killed_again_and_again(hakoiri, PEGS, seed, [(11, "merged"), (14, "expanded")], [STARVED])
    hakoiri("resume", "last", *AT_SPEED)
    assert_as_undisturbed(hakoiri, expected)


@pytest.mark.slow
def test_damaged_older_keys_of_a_directed_puzzle(hakoiri: Hakoiri, undisturbed: Undisturbed) -> None:
    """The keys that a directed search keeps beside its layers are refused, too, and made anew."""
    stood_still(hakoiri, "run", *PEGS, *STARVED, depth=14, what="merged").kill()
    directory = hakoiri.run_directory()
    with Ledger(directory) as ledger:
        name = ledger.names(CLOSED)[0]
        value = ledger.read(CLOSED, name)
    assert value is not None
    raw = (directory / DATA_FILE).read_bytes()
    assert raw.count(value) > 0
    (directory / DATA_FILE).write_bytes(raw.replace(value, value[:-1] + bytes([value[-1] ^ 1])))
    refused = hakoiri("resume", "last", check=False)
    assert (refused.code, refused.stdout) == (1, "")
    assert "damaged" in refused.error
    assert f"hakoiri resume {directory.name} --repair" in refused.error
    hakoiri("resume", "last", "--repair", *AT_SPEED)
    assert_as_undisturbed(hakoiri, undisturbed(PEGS))
