"""The campaign of mayhem: its books, its page, and in CI a few trials of each part."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE
from typing import ClassVar

import psutil
import pytest

from campaigns.mayhem.__main__ import PARTS, campaign, code, wanted
from campaigns.mayhem.page import PAGE, RESULTS, page, summary
from campaigns.mayhem.places import own_folder
from campaigns.mayhem.scene import Disturbed
from campaigns.mayhem.services import megabytes
from campaigns.mayhem.trials import ImpossibleError, Measure, Outcome, Part, Trial, TrialBooks
from tests.support.commands import await_end, wait_until


class Toy(Part):
    """Keeps its promise but for the third trial."""

    name, usual, short = "toy", 5, (0,)
    headings = ("what",)
    measures: ClassVar = {"blows": Measure("blows"), "lost": Measure("seconds lost", most=True)}
    text = "A toy."

    def run(self, trial: Trial) -> Outcome:
        if trial.number == 4:
            raise ValueError("broken")
        if trial.number == 5:
            raise ImpossibleError("no tools")
        (self.place / trial.folder).mkdir()
        faults = ["it did not"] if trial.number == 2 else []
        return Outcome("odd" if trial.number % 2 else "even", {"blows": 2, "lost": trial.number / 4}, faults)


def test_a_campaign_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    first = list(campaign(wanted([Toy(tmp_path)], 2), float("inf"), 7, TrialBooks(file)))
    assert [row["number"] for row in first] == [0, 1]
    with file.open("a", encoding="utf-8") as half:
        half.write('{"part": "toy", "num')
    rest = list(campaign(wanted([Toy(tmp_path)], None), float("inf"), 7, TrialBooks(file)))
    assert [row["number"] for row in rest] == [2, 3, 4]
    assert [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] == [*first, *rest]
    assert list(campaign(wanted([Toy(tmp_path)], None), float("inf"), 7, TrialBooks(file))) == []
    # What cannot be done here is no result, and a later trial is done all the same.
    assert [row["number"] for row in campaign(wanted([Toy(tmp_path)], 7), float("inf"), 7, TrialBooks(file))] == [6]
    # Another seed is another campaign; with no time nothing is tried.
    assert len(list(campaign(wanted([Toy(tmp_path)], 1), float("inf"), 8, TrialBooks(file)))) == 1
    assert list(campaign(wanted([Toy(tmp_path)], None), 0, 9, TrialBooks(file))) == []


def test_the_page_tells_what_was_counted_and_what_was_not_kept(tmp_path: Path) -> None:
    books = TrialBooks(tmp_path / "results.jsonl")
    list(campaign(wanted([Toy(tmp_path)], None), float("inf"), 7, books))
    found = summary(books.rows(), {"toy": Toy})
    results = found["parts"]["toy"]
    assert (results["trials"], results["blows"], results["lost"]) == (5, 8, 0.75)
    told = page(found, {"toy": Toy})
    assert [entry.name for entry in books.kept.iterdir()] == ["7-toy-2"]
    assert not list(tmp_path.glob("toy-*"))
    assert "| even | 2 | 4 | 0.50 |" in told
    assert "| all | 5 | 8 | 0.75 |" in told
    assert f"Most seconds lost: 0.75 in `toy:3 --seed 7` on `{code()}` (odd). Then 0.5 in `toy:2 --seed 7`" in told
    assert "2 broke a promise" in told
    assert f"5 on `{code()}`. 3 cases, each tried 1 to 2 times." in told
    assert f"- `toy:2 --seed 7` on `{code()}` (even): it did not" in told
    assert "ValueError: broken" in told


def test_the_page_tells_the_figures_of_a_single_trial_one_below_the_other(tmp_path: Path) -> None:
    books = TrialBooks(tmp_path / "results.jsonl")
    list(campaign(wanted([Toy(tmp_path)], 1), float("inf"), 7, books))
    told = page(summary(books.rows(), {"toy": Toy}), {"toy": Toy})
    assert (
        f"all kept every promise. On `{code()}`.\n\n| figure | |\n|---|--:|\n| blows | 2 |\n| seconds lost | 0.0 |"
        in told
    )
    assert "Most" not in told


def test_the_memory_of_a_service_is_what_no_file_backs(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(1 << 26))
    program = (
        "import mmap\n"
        "input()\n"
        f"file = open({str(tmp_path / 'file')!r}, 'rb')\n"
        "mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)\n"
        "sum(mapped[::4096])\n"
        "print('mapped', flush=True)\n"
        "input()\n"
        "own = bytes(b'x') * (1 << 25)\n"
        "print('taken', flush=True)\n"
        "input()\n"
    )
    taken = []
    with subprocess.Popen([sys.executable, "-c", program], stdin=PIPE, stdout=PIPE, text=True, bufsize=1) as child:
        assert child.stdin and child.stdout
        for told in ("mapped", "taken"):
            child.stdin.write("\n")
            assert child.stdout.readline() == f"{told}\n"
            taken.append(megabytes(child.pid))
        child.stdin.write("\n")
    assert taken[0] < 32 <= taken[1] - taken[0] < 40


def test_the_commit_is_unknown_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert code() == "unknown"


_DISTURBED = [kind for kind in PARTS.values() if issubclass(kind, Disturbed)]


@pytest.mark.parametrize("kind", _DISTURBED, ids=lambda kind: kind.name)
def test_each_way_is_tried_on_each_kind_of_run(kind: type[Disturbed], tmp_path: Path) -> None:
    part = kind(tmp_path)
    pairs = {(way, work) for way in part.ways for work in part.works_of(way)}
    assert {tuple(part.case_of(number).split(" / ")) for number in range(part.usual)} == pairs
    way, work = chosen = min(pairs)
    numbers = [number for _, number in wanted([part], None, names=chosen)]
    assert numbers == [number for number in range(part.usual) if part.case_of(number) == f"{way} / {work}"] != []


def test_chance_is_that_of_the_trial_alone() -> None:
    drawn = [Trial("kills", number, seed).chance().random() for number in (1, 2) for seed in (1, 2)]
    assert len(set(drawn)) == 4
    assert Trial("kills", 1, 1).chance().random() == drawn[0]


def test_the_page_is_that_of_the_results() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(json.loads(RESULTS.read_text(encoding="utf-8")), PARTS)


def test_what_a_kill_left_goes_with_the_next_campaign(tmp_path: Path) -> None:
    left, strange = tmp_path / "mayhem-left", tmp_path / "other"
    for folder in (left, strange):
        (folder / "kills-1").mkdir(parents=True)
        os.utime(folder, (0, 0))
    with own_folder(tmp_path) as first:
        (first / "kills-2").mkdir()
        os.utime(first, (0, 0))
        with own_folder(tmp_path) as second:
            assert {*tmp_path.iterdir()} == {strange, first, second}
    assert [*tmp_path.iterdir()] == [strange]


@pytest.mark.ci_slow
@pytest.mark.timeout(1200)
def test_a_kill_of_mayhem_in_short_leaves_nobody(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "campaigns.mayhem", "--only", "hosts:64", "--place", str(tmp_path)]
    with subprocess.Popen(command, cwd=PAGE.parents[1], stdout=subprocess.PIPE) as campaign:
        started = psutil.Process(campaign.pid)
        family = wait_until(lambda: _with_redis_and_workers(started), 600, "those who take part")
        campaign.kill()
    assert await_end(family) == []


def _with_redis_and_workers(started: psutil.Process) -> list[psutil.Process]:
    """The family of a campaign, when it has a Redis, and a worker whose supervisor was forked from who forks for it."""
    family, redis, generations = started.children(recursive=True), False, 0
    for child in family:
        with suppress(psutil.NoSuchProcess):
            redis |= child.name() == "redis-server"
            generations = max(generations, len(child.parents()) - len(started.parents()))
    return family if redis and generations > 2 else []


@pytest.mark.ci_slow
@pytest.mark.timeout(1200)
def test_mayhem_in_short(tmp_path: Path) -> None:
    """As a user starts it: its processes are to be forked from one that has the shim."""
    results = str(tmp_path / "results.jsonl")
    command = [sys.executable, "-m", "campaigns.mayhem", "--short", "--results", results, "--json"]
    ended = subprocess.run(command, cwd=PAGE.parents[1], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)["parts"]
    done, left_out = sum(part["trials"] for part in found.values()), ended.stderr.count("is left out")
    assert done + left_out == sum(len(part.short) for part in PARTS.values())
    assert left_out == 0 or shutil.which("cc") is None
