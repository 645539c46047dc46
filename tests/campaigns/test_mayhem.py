"""The campaign of mayhem: its books, its page, and in CI a few trials of each part."""

import json
import os
import shutil
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import ClassVar

import psutil
import pytest

from campaigns.mayhem import page as mayhem_page
from campaigns.mayhem.__main__ import PARTS, campaign, wanted
from campaigns.mayhem.page import PAGE, RESULTS, page
from campaigns.mayhem.places import own_folder
from campaigns.mayhem.power import Disk, after_a_cut
from campaigns.mayhem.scene import Disturbed
from campaigns.mayhem.trials import ImpossibleError, Measure, Outcome, Part, Trial, TrialBooks
from scripts import check_claims
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


_DISTURBED = [kind for kind in PARTS.values() if issubclass(kind, Disturbed)]


@pytest.mark.parametrize("kind", _DISTURBED, ids=lambda kind: kind.name)
def test_each_way_is_tried_on_each_kind_of_run(kind: type[Disturbed], tmp_path: Path) -> None:
    part = kind(tmp_path)
    pairs = {(way, work) for way in part.ways for work in part.works_of(way)}
    assert {tuple(part.case_of(number).split(" / ")) for number in range(part.usual)} == pairs
    way, work = chosen = min(pairs)
    numbers = [number for _, number in wanted([part], None, names=chosen)]
    assert numbers == [number for number in range(part.usual) if part.case_of(number) == f"{way} / {work}"] != []


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


@pytest.mark.slow
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


#: Harms that no other test does in CI. Those of the other parts are done by tests of kills, hosts, workers and disks.
_ITS_OWN = {"damage", "disks", "memory", "payloads", "redis", "requests", "web"}


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "parts",
    [sorted(_ITS_OWN), pytest.param(sorted({*PARTS} - _ITS_OWN), marks=pytest.mark.slow)],
    ids=["own", "others"],
)
def test_mayhem_in_short(parts: list[str], tmp_path: Path) -> None:
    """As a user starts it: its processes are to be forked from one that has the shim."""
    results = str(tmp_path / "results.jsonl")
    chosen = [word for name in parts for word in ("--part", name)]
    command = [sys.executable, "-m", "campaigns.mayhem", "--short", *chosen, "--results", results, "--json"]
    ended = subprocess.run(command, cwd=PAGE.parents[1], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)["parts"]
    done, left_out = sum(part["trials"] for part in found.values()), ended.stderr.count("is left out")
    assert done + left_out == sum(len(PARTS[name].short) for name in parts)
    assert left_out == 0 or shutil.which("cc") is None


# A simulated power cut leaves all that was synced, a random part of the rest, and never more


ROOT, FILE, OTHER = 1, 2, 3


def record(kind: str, inode: int, parent: int = 0, offset: int = 0, name: str = "", data: bytes = b"") -> bytes:
    head = struct.pack("=cQQqII", kind.encode(), inode, parent, offset, len(name), len(data))
    return head + name.encode() + data


def test_what_was_synced_is_there_and_what_was_not_may_be(tmp_path: Path) -> None:
    log, old, new = tmp_path / "log", b"old" * 400, b"new" * 400
    log.write_bytes(
        record("C", FILE, ROOT, name="a")
        + record("W", FILE, data=old)
        + record("S", FILE)
        + record("S", ROOT)
        + record("M", 0, name="7.5")
        + record("W", FILE, data=new)
        + record("C", OTHER, ROOT, name="b")
        + record("R", OTHER, ROOT, ROOT, "b/c")
    )
    seen = set()
    for seed in range(60):
        place = tmp_path / str(seed)
        committed = after_a_cut(Disk(), log, ROOT, Random(seed), place)
        names = {entry.name for entry in place.iterdir()}
        content = (place / "a").read_bytes() if "a" in names else None
        assert committed in (0.0, 7.5)
        # What was not synced may be torn, at a sector.
        assert not committed or content in [new[:torn] + old[torn:] for torn in (0, 512, 1_024, 1_200)]
        assert not {"b", "c"} <= names
        seen.add((committed, content is not None and content[:3], "b" in names, "c" in names))
    assert {(7.5, b"old", False, False), (7.5, b"new", False, True), (7.5, b"old", True, False)} <= seen


# Pages that cite the campaign

_PARTS = {
    "kills": {"blows": 565, "code": {"abc1234": 500, "def5678": 65}},
    "farmed": {"blows": 300, "code": {"fff0000": 300}},
    "squashed": {"blows": 7, "code": {"aaaaaaa": 7}, "until": "2026-11-26"},
    "legs": {"blows": 8, "code": {"aaaaaaa": 8}, "until": "2026-11-28"},
}
_HERE = "docs/reports/mayhem.md"


def older(commit: str, feature: str) -> bool | None:
    """Workers came back after the first two commits, and `--keep` after all; one commit is not known."""
    if commit == "aaaaaaa":
        return None
    return commit != "fff0000" or feature == check_claims.FEATURES[r"--keep\b"][0]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (f"It is [tried]({_HERE}). Others are 1,695.", ""),
        (f"All is right: [565 kills](../{_HERE}#kills) of threads.", ""),
        (f"Kill a worker. [300 kills]({_HERE}#farmed) of workers on frontiers.", ""),
        (f"[A campaign]({_HERE}) with 1,695\nkills checks it.", "outside of the link"),
        (f"[A campaign]({_HERE}#kills) with 565 kills.", "outside of the link"),
        (f"[A campaign of 565]({_HERE}).", "has no part ''"),
        (f"[565 kills]({_HERE}#killed).", "has no part 'killed'"),
        (f"[566 kills]({_HERE}#kills).", "566 is no figure of kills"),
        (f"[565 kills]({_HERE}#kills) of workers.", "cites trials of abc1234, def5678, older than 62b1c302"),
        (f"[300 kills]({_HERE}#farmed) with `--keep depths`.", "cites trials of fff0000, older than"),
        (f"[7 kills]({_HERE}#squashed) of workers.", "cites trials of 2026-11-26, older than 62b1c302"),
        (f"[8 kills]({_HERE}#legs) of workers.", ""),
    ],
)
def test_a_page_cites_no_figure_that_is_older_than_what_it_names(text: str, fault: str) -> None:
    found = "\n".join(check_claims.faults(text, _PARTS, older))
    assert fault in found if fault else not found


def test_what_a_release_has_ended_is_found() -> None:
    text = "Plain workers make\nno layers of a search. The supervisor forks workers; workers expand chunks."
    assert [*check_claims.ended(text)] == [
        "says 'workers make no layers', but workers expand chunks of layers",
        "says 'forks workers', but a worker is a new interpreter",
    ]


def test_the_pages_cite_the_campaign_truly() -> None:
    parts = json.loads(RESULTS.read_text(encoding="utf-8"))["parts"]
    texts = [(PAGE.parents[2] / name).read_text(encoding="utf-8") for name in check_claims.PAGES]
    assert [fault for text in texts for fault in check_claims.faults(text, parts)] == []


def test_commits_since_are_counted_in_the_rooms_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str) -> str:
        line = ["git", "-c", "user.name=x", "-c", "user.email=x@x", *words]
        return subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip()

    git("init", "-q")
    for number, name in enumerate(["a", "hakoiri/storage/b", "web/c", "hakoiri/storage/b"]):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(str(number), encoding="ascii")
        git("add", ".")
        git("commit", "-qm", str(number))
    first = git("rev-list", "--reverse", "HEAD").split()[0]
    monkeypatch.setattr(mayhem_page, "PAGE", tmp_path / "docs" / "reports" / "mayhem.md")
    rooms = (("storage",), 2), (("web",), 1), (("storage", "web"), 3), (("worker",), 0)
    assert [mayhem_page.touched_since(first, each) for each, _ in rooms] == [count for _, count in rooms]
    assert mayhem_page.touched_since(f"{first}-dirty", ("web",)) == 1
    assert mayhem_page.touched_since("0123456789", ("web",)) is None
