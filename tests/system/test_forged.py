"""Archives and runs forged by others: used, or refused in one line; nothing outside is changed."""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from hakoiri.coordinator.runs.archive import archive_run, restore_run
from hakoiri.coordinator.runs.catalogue import delete_run, find_run, status_of
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.session.resources import Resources, Tuning
from hakoiri.errors import DamagedError, HakoiriError
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.engine.files import Given
from hakoiri.storage.names import TABLE_FILE, TITLE_FILE, questions_folder, title_of
from tests.support.commands import START_OF_248, Hakoiri
from tests.support.forged import STRANGE, bounded, forge_index, forge_record, forge_table, forge_tree, snapshot
from tests.support.runs import StoppingAfter
from tests.support.toy_runs import driven

#: Changes of each kind in the default suite, and in the slow one.
ARCHIVES, MANY_ARCHIVES = 40, 2_000
RUNS, MANY_RUNS = 8, 500
KEEPS = {
    "layers": ("run", "klotski", "--from", START_OF_248),
    "depths": ("run", "tiles", "-o", "rows=2", "-o", "columns=3", "--keep", "depths"),
    "frontier": ("run", "tiles", "-o", "rows=2", "-o", "columns=3", "--keep", "frontier"),
}
#: Its table is in a file: the marks of 2**18 numbers fit in memory, the table does not.
FILED = PuzzleSpec("pancakes", {"n": "9"})
IN_FILE = Resources(memory=1, tuning=Tuning(least_bytes=400_000, commit=-1.0))
QUESTIONS = (
    "status given", "runs", "layers given", "path given --to farthest", "diameter given",
    "verify given --seed 1", "archive given --to SHELF", "resume given", "resume given --repair", "cancel given",
    "delete given --yes",
)  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder of the user's own, which has a folder with the name of the run."""
    for name in ("home/precious", "home/given/precious", "home/last/precious"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("all that I have\n", "ascii")
    return tmp_path / "home"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run for each way to keep its layers."""
    found = {}
    for keep, line in KEEPS.items():
        command = Hakoiri(tmp_path_factory.mktemp(keep))
        command.ask(*line)
        found[keep] = command.run_directory()
    found["filed"] = make_run(tmp_path_factory.mktemp("filed"), FILED, None, {"keep": "depths"}, IN_FILE)
    while driven(found["filed"], IN_FILE, StoppingAfter(8)).depth < 5:
        pass
    return found


def try_archives(count: int, made: dict[str, Path], home: Path) -> None:
    """Restore so many forged archives."""
    shelf, data = home.parent / "shelf", home.parent / "data"
    run = Path(shutil.copytree(made["depths"], home.parent / "first" / "given"))
    (run / TITLE_FILE).write_text("of mine", "utf-8")
    archive_run(run, str(home.parent / "right"))
    restored = 0
    for seed in range(count):
        chance = Random(seed)
        shutil.rmtree(shelf, ignore_errors=True)
        shutil.copytree(home.parent / "right", shelf)
        for _ in range(chance.randrange(1, 3)):
            with suppress(OSError):  # Two strange things may exclude each other.
                if chance.random() < 0.5 and (shelf / "given" / "archive.json").is_file():
                    forge_index(shelf / "given" / "archive.json", chance)
                else:
                    forge_tree(shelf / "given", home / "precious", chance)
        before = snapshot(home.parent, data)
        with bounded(seed):
            try:
                for name in restore_run(data, "given", str(shelf)).runs:
                    with suppress(HakoiriError):
                        status_of(find_run(data, name))
                restored += 1
            except HakoiriError as error:
                assert str(error) and "\n" not in str(error), seed
        assert snapshot(home.parent, data) == before, seed
        shutil.rmtree(data, ignore_errors=True)
    assert 0 < restored < count


@pytest.mark.ci_slow
def test_forged_archives(made: dict[str, Path], home: Path) -> None:
    try_archives(ARCHIVES, made, home)


@pytest.mark.slow
def test_many_forged_archives(made: dict[str, Path], home: Path) -> None:
    try_archives(MANY_ARCHIVES, made, home)


def try_runs(count: int, made: Path, home: Path, hakoiri: Hakoiri) -> None:
    """Ask everything of so many forged runs."""
    for seed in range(count):
        chance = Random(seed)
        hakoiri.data.mkdir(exist_ok=True)
        run = Path(shutil.copytree(made, hakoiri.data / "given"))
        what = [forge_record(run, chance) for _ in range(chance.randrange(1, 3))]
        if (run / TABLE_FILE).exists():
            what.append(forge_table(run, chance))
        if chance.random() < 0.3:
            with suppress(OSError):
                forge_tree(run, home / "precious", chance)
        shelf = home.parent / f"shelf-{seed}"
        before = snapshot(home.parent, hakoiri.data, shelf)
        for question in QUESTIONS:
            with bounded((seed, what, question)):
                words = question.replace("SHELF", str(shelf)).split()
                asked = hakoiri.here(*words, check=False)
            assert "Traceback" not in asked.stderr and asked.code in (0, 1), (seed, what, question, asked)
        assert snapshot(home.parent, hakoiri.data, shelf) == before, (seed, what)
        shutil.rmtree(hakoiri.data)
        shutil.rmtree(shelf, ignore_errors=True)


@pytest.mark.ci_slow
@pytest.mark.parametrize("keep", [*KEEPS, "filed"])
def test_forged_runs(keep: str, made: dict[str, Path], home: Path, hakoiri: Hakoiri) -> None:
    try_runs(RUNS, made[keep], home, hakoiri)


@pytest.mark.slow
@pytest.mark.parametrize("keep", [*KEEPS, "filed"])
def test_many_forged_runs(keep: str, made: dict[str, Path], home: Path, hakoiri: Hakoiri) -> None:
    try_runs(MANY_RUNS, made[keep], home, hakoiri)


@pytest.mark.parametrize("kind", STRANGE)
@pytest.mark.parametrize("place", [".questions", ".questions/given"])
def test_a_deletion_removes_no_questions_through_a_link(
    kind: str, place: str, made: dict[str, Path], home: Path, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(made["layers"], tmp_path / "data" / "given"))
    (tmp_path / "data" / place).parent.mkdir(exist_ok=True)
    STRANGE[kind](tmp_path / "data" / place, home / "precious")
    before = snapshot(home)
    with bounded(kind):
        assert delete_run(run) == ["given"]
    assert snapshot(home) == before
    assert questions_folder("given") == ".questions/given"


@pytest.mark.parametrize("kind", STRANGE)
def test_a_title_is_not_written_through_a_link(kind: str, home: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    STRANGE[kind](tmp_path / "run" / TITLE_FILE, home / "precious")
    content = (home / "precious").read_bytes()
    if kind == "folder":
        with pytest.raises(DamagedError, match="not a plain file"):
            Given(tmp_path / "run").write(TITLE_FILE, [b"mine"])
    else:
        Given(tmp_path / "run").write(TITLE_FILE, [b"mine"])
        assert title_of(tmp_path / "run") == "mine"
    assert (home / "precious").read_bytes() == content
    assert os.listdir(tmp_path / "run") == [TITLE_FILE]  # noqa: PTH208


@pytest.mark.parametrize("name", ["..", "../x", "/etc/x", "a/../../x", "link/x"])
@pytest.mark.parametrize("use", ["read", "write", "make_folder", "unlink"])
def test_no_name_leads_out(use: str, name: str, home: Path, tmp_path: Path) -> None:
    (tmp_path / "run" / "a").mkdir(parents=True)
    (tmp_path / "run" / "link").symlink_to(home)
    (tmp_path / "x").write_text("mine", "ascii")
    before = snapshot(tmp_path, tmp_path / "run")
    uses: dict[str, Any] = {"read": [9], "write": [[b"theirs"]], "make_folder": [], "unlink": []}
    with pytest.raises((DamagedError, OSError)):
        getattr(Given(tmp_path / "run"), use)(name, *uses[use])
    assert snapshot(tmp_path, tmp_path / "run") == before


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"1234")
    os.truncate(tmp_path / "file", 200 << 30)
    with pytest.raises(DamagedError, match="more than 1,000 bytes"):
        Given(tmp_path).read("file", 1_000)
