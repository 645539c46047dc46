"""A disk that is full, a data file that is not what was written: a right answer or a clear refusal, nothing else."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.names import (
    BLOCKS,
    COMPONENTS,
    DATA_FILE,
    LABELS,
    LAYERS,
    LOCK_FILE,
    PAIRS,
    SCRATCH_PREFIX,
    number_key,
)
from tests.support.commands import START_OF_248, Finished, FinishedRuns, Hakoiri
from tests.support.disks import FILE_SYSTEMS, FILLER, fill_disk, free_on, mounted_disk, small_disk
from tests.support.harms import HARMS, Harm, blank, exchange, flip_header, told, truncate
from tests.support.process_setup import limit_addresses, limit_files
from tests.support.seeds import first_usual, seeds, usual

SLOW = pytest.mark.slow
#: What a run is asked; `START` is a configuration of it.
QUESTIONS = (
    "status last", "runs", "layers last", "path last --to farthest", "distance last START", "diameter last",
    "verify last --seed 1", "resume last",
)  # fmt: skip
RightAnswers = Callable[[FinishedRuns, dict[str, Any], str], Any]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> FinishedRuns:
    """An exploration of 248 configurations, for what does not depend on how many there are; and no census."""
    command = Hakoiri(tmp_path_factory.mktemp("small"))
    return FinishedRuns(command, command.ask("run", "klotski", "--from", START_OF_248), {})


def words_of(question: str, which: dict[str, Any]) -> list[str]:
    """A question to a run, by the only name that it has where it is copied."""
    return [(which["start"] or "ABBC/ABBC/DEEF/DGHF/.IJ.") if word == "START" else word for word in question.split()]


# No room


def says_how_to_go_on(refused: Finished, data: Path) -> None:
    """A failed write is told as a full disk; the advice is one that can be followed."""
    assert refused.code == 1, refused
    assert refused.stdout == ""
    assert "is full" in refused.error
    assert "free some space" in refused.error
    assert "damaged" not in refused.error
    left = [entry.name for entry in data.iterdir()] if data.exists() else []
    assert ("hakoiri resume" in refused.error) == bool(left)
    assert all(f"hakoiri resume {name}" in refused.error for name in left)


def goes_on_when_there_is_room(hakoiri: Hakoiri, undisturbed: dict[str, Any], data: Path) -> None:
    """The run that was left is completed to the same digests; if none was left, a new run works."""
    if hakoiri.ask("runs", data=data)["runs"]:
        status = hakoiri.ask("status", "last", data=data)["status"]
        assert status in ("queued", "interrupted")
        found = hakoiri.ask("resume", "last", data=data)
    else:
        found = hakoiri.ask("run", "klotski", *(["--whole"] if undisturbed["kind"] == "census" else []), data=data)
    assert (found["status"], found["digest"]) == ("complete", undisturbed["digest"])


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("kind", "free_kib"), first_usual(2, ("mounted", 900), ("counted", 1_400), ("mounted", 1_150), ("counted", 1_080))
)
def test_a_full_disk(kind: str, free_kib: int, hakoiri: Hakoiri, tmp_path: Path, finished: FinishedRuns) -> None:
    """With less than the reserve of a MiB, with room to begin, and with room for a part: the census takes 940 KiB."""
    with small_disk(kind, tmp_path / "disk", 3 << 20) as disk:
        ballast = disk.place / ".ballast"
        ballast.write_bytes(bytes((3 << 20) - free_kib * 1024))
        data = disk.place / "runs"
        refused = hakoiri("run", "klotski", "--whole", data=data, check=False, before=disk.before)
        says_how_to_go_on(refused, data)
        assert all(run["status"] in ("queued", "interrupted") for run in hakoiri.ask("runs", data=data)["runs"])
        ballast.unlink()
        goes_on_when_there_is_room(hakoiri, finished.counted, data)


@usual(
    1,
    ("mode", "limit"),
    [
        ("explored", 12_000),
        pytest.param("explored", 40_000, marks=SLOW),
        ("explored", 120_000),
        ("counted", 12_000),
        pytest.param("counted", 120_000, marks=SLOW),
        ("counted", 400_000),
    ],
)
def test_a_quota(mode: str, limit: int, hakoiri: Hakoiri, finished: FinishedRuns) -> None:
    """No file may grow beyond `limit` bytes: the write itself fails, without a warning before."""
    undisturbed: dict[str, Any] = getattr(finished, mode)
    assert (finished.hakoiri.data / undisturbed["run"] / DATA_FILE).stat().st_size > limit, "this run would fit"
    refused = hakoiri(
        "run", "klotski", *(["--whole"] if mode == "counted" else []), check=False,
        before=partial(limit_files, limit),
    )  # fmt: skip
    says_how_to_go_on(refused, hakoiri.data)
    goes_on_when_there_is_room(hakoiri, undisturbed, hakoiri.data)


# No addresses


@usual(2, "question", [question for question in QUESTIONS if question != "resume last"])
def test_questions_need_no_address_space(question: str, hakoiri: Hakoiri, small: FinishedRuns) -> None:
    """Runs are read without LMDB's map."""
    small.copy(small.explored, hakoiri.data)
    words = [*words_of(question, small.explored), "--json"]
    done = hakoiri(*words, check=False, before=partial(limit_addresses, 1 << 36))
    assert done.code == 0, done.error
    assert done.stdout == hakoiri.here(*words).stdout


@pytest.mark.parametrize("command", ["resume last", "delete last --yes", "run klotski", "enqueue klotski"])
def test_too_little_address_space_is_no_damage(command: str, hakoiri: Hakoiri, finished: FinishedRuns) -> None:
    """LMDB reserves a terabyte of addresses, and takes no memory for them: ``ulimit -v`` may forbid that."""
    directory = finished.copy(finished.explored, hakoiri.data)
    done = hakoiri(*command.split(), "--json", check=False, before=partial(limit_addresses, 1 << 36))
    if command.startswith("delete"):
        assert (done.code, directory.exists()) == (0, False)
        return
    assert (done.code, done.stdout) == (1, "")
    assert "1,024 GB of address space" in done.error
    assert "ulimit -v" in done.error
    assert "creating" not in done.error, "a run goes by its own name"
    assert not re.search("damage|delete|--memory|resume", done.error)
    assert [entry.name for entry in hakoiri.data.iterdir()] == [directory.name]
    assert hakoiri.ask("status", "last")["status"] == "complete"


# Damage anywhere


@pytest.fixture(scope="module")
def right_answer() -> RightAnswers:
    """The answer of an undamaged run to each question, asked once."""
    known: dict[tuple[str, str], Any] = {}

    def answer(finished: FinishedRuns, which: dict[str, Any], question: str) -> Any:
        run = which["run"]
        if (run, question) not in known:
            words = [run if word == "last" else word for word in words_of(question, which)]
            known[run, question] = told(finished.hakoiri.here(*words, "--json"))
        return known[run, question]

    return answer


def harm_and_ask(
    hakoiri: Hakoiri, finished: FinishedRuns, which: dict[str, Any], right_answer: RightAnswers, harm: Harm, seed: int
) -> None:
    """Every question to a damaged copy of a run has its right answer, or is refused because of the damage."""
    file = finished.copy(which, hakoiri.data) / DATA_FILE
    raw = bytearray(file.read_bytes())
    harm(raw, np.random.default_rng(seed))
    file.write_bytes(raw)
    for question in QUESTIONS:
        answer, right = (
            told(hakoiri(*words_of(question, which), "--json", check=False)),
            right_answer(finished, which, question),
        )
        if question == "runs" and answer is not None:
            (row,) = answer["runs"]
            assert row["run"] == which["run"]
            assert row["status"] == "damaged" or row in right["runs"], (harm.__name__, seed)
        else:
            assert answer in (None, right), (harm.__name__, seed, question)


@pytest.mark.ci_slow
@pytest.mark.parametrize("harm", [flip_header, truncate, exchange, pytest.param(blank, marks=SLOW)])
def test_a_damaged_file_gives_no_wrong_answer(
    harm: Harm, hakoiri: Hakoiri, small: FinishedRuns, right_answer: RightAnswers
) -> None:
    harm_and_ask(hakoiri, small, small.explored, right_answer, harm, seed=1)


# File systems full to their last blocks: every question is answered or refused with a reason, and none dies


SIZE = 100_000_000
RUN = ("run", "tiles", "-o", "rows=2", "-o", "columns=3", "--name", "tiles")
#: Questions that need layers of their own on disk, and one that does not.
QUESTIONS_ON_FULL_DISKS = (
    "diameter last", "diameter last --all", "path last --from 123/45. --to .12/345", "layers last",
)  # fmt: skip


@pytest.mark.ci_slow
@pytest.mark.parametrize("kind", FILE_SYSTEMS)
def test_questions_on_a_full_disk(kind: str, hakoiri: Hakoiri) -> None:
    """LMDB maps its lock file: to touch a block of it that the disk has not is SIGBUS."""
    hakoiri.data.mkdir()
    with mounted_disk(kind, hakoiri.data, SIZE) as refused:
        if refused:
            pytest.skip(f"no {kind} can be mounted here: {refused}")
        run = hakoiri.data / hakoiri.ask(*RUN)["run"]
        for left in (8192, 4096, 0):
            fill_disk(hakoiri.data, left)
            assert free_on(hakoiri.data) <= left
            for question in QUESTIONS_ON_FULL_DISKS:
                asked = hakoiri(*question.split(), "--json", check=False)
                if question == "layers last":
                    assert asked.code == 0, asked
                else:
                    assert (asked.code, asked.stdout) == (1, ""), asked
                    assert "is too full for the layers that this question needs" in asked.error
                assert not list(run.glob(f"{SCRATCH_PREFIX}*"))
        (run / LOCK_FILE).unlink()
        fill_disk(hakoiri.data, 0)
        assert "is full" in hakoiri("cancel", "last", check=False).error
        (hakoiri.data / FILLER).unlink()
        assert hakoiri.json("diameter", "last")["diameter"] == 21


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(2, 2, 10))
@pytest.mark.parametrize("mode", ["explored", "counted"])
@pytest.mark.parametrize("harm", HARMS)
def test_much_damage_gives_no_wrong_answer(
    harm: Harm, mode: str, seed: int, hakoiri: Hakoiri, finished: FinishedRuns, right_answer: RightAnswers
) -> None:
    harm_and_ask(hakoiri, finished, getattr(finished, mode), right_answer, harm, seed)


def harm_entry(directory: Path, database: bytes, prefix: bytes) -> None:
    """Flip the last bit of the first entry of a database whose name begins with `prefix`."""
    with Ledger(directory) as ledger:
        name = next(name for name in ledger.names(database) if name.startswith(prefix))
        value = ledger.read(database, name)
    assert value is not None
    file = directory / DATA_FILE
    raw = bytearray(file.read_bytes())
    assert raw.count(value) > 0
    # Older copies of the page may lie about; all are harmed.
    place = raw.find(value)
    while place >= 0:
        raw[place + len(value) - 1] ^= 1
        place = raw.find(value)
    file.write_bytes(raw)


@usual(1, "database", [BLOCKS, PAIRS, LABELS, LAYERS, COMPONENTS])
def test_a_damaged_census_is_named_and_counted_again(database: bytes, hakoiri: Hakoiri) -> None:
    digest = hakoiri.ask("run", "tiles", "-o", "rows=3", "-o", "columns=2", "--whole")["digest"]
    harm_entry(hakoiri.run_directory(), database, number_key(0))
    verified = hakoiri.here("verify", "last", "--json", check=False)
    assert (verified.code, verified.json["cause"]) == (1, "damage")
    assert verified.json["faults"]
    assert hakoiri.ask("resume", "last", "--repair")["digest"] == digest
    assert hakoiri.ask("verify", "last")["ok"]
