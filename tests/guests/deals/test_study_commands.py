"""The command ``study``: its tables, files and refusals, kills with real signals, and RQ workers against threads."""

import csv
import json
import re
import shlex
import signal
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.image
import pytest

from hakoiri.guests.deals.hunt import HuntFigures, Record
from hakoiri.guests.deals.table import Deal
from hakoiri.storage.names import run_directories
from tests.support.commands import Hakoiri, wait_until
from tests.support.geometry import FOLDER
from tests.support.process_setup import stand_still_beyond
from tests.support.runs import opened
from tests.support.seeds import usual
from tests.support.servers import Workers, by_workers

SMALL = ("study", "deals", "superpuzz", "--sizes", "3..4", "--deals", "12")


def rows_of(target: Path) -> list[dict[str, str]]:
    with target.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.ci_slow
def test_tables_json_csv_and_picture_say_the_same(hakoiri: Hakoiri, tmp_path: Path) -> None:
    target, picture = tmp_path / "deals.csv", tmp_path / "deals.png"
    printed = hakoiri.here(*SMALL, "--csv", str(target), "--plot", str(picture)).stdout
    found = hakoiri.ask(*SMALL)
    rows = rows_of(target)
    assert [(row["size"], row["number"]) for row in rows] == [(size, str(n)) for size in "34" for n in range(12)]
    assert found["complete"] is True
    for size in found["sizes"]:
        for which, goals in size["goals"].items():
            moves = [
                int(row[f"moves_{which}"])
                for row in rows
                if row["size"] == str(size["columns"]) and row[f"outcome_{which}"] == "solvable"
            ]
            assert (goals["solvable"], goals["capped"]) == (len(moves), 0)
            assert (goals["moves"]["least"], goals["moves"]["most"]) == (min(moves), max(moves))
            assert goals["moves"]["mean"] == pytest.approx(sum(moves) / len(moves))
            words = f"{size['columns']} {len(moves)} {12 - len(moves)} 0 {100 * len(moves) / 12:.1f} %"
            assert f"{words} {min(moves)} {sum(moves) / len(moves):.2f}" in " ".join(printed.split())
    assert rows[0]["deal"].count("/") == 3
    assert matplotlib.image.imread(picture).std() > 0.05, "an empty picture"


@usual(1, "ending", ["svg", "pdf"])
def test_a_study_of_gap_with_capped_deals(ending: str, hakoiri: Hakoiri, tmp_path: Path) -> None:
    picture = tmp_path / f"deals.{ending}"
    line = ("study", "deals", "gap", "--sizes", "3,4", "--deals", "25", "--cap", "0.05k", "--seed", "3")
    printed = hakoiri.here(*line, "--plot", str(picture)).stdout
    assert picture.read_bytes().startswith({"svg": b"<?xml", "pdf": b"%PDF"}[ending])
    assert "capped: the cap ended the search first" in printed
    sizes = hakoiri.ask(*line)["sizes"]
    assert len(sizes) == 2
    for size in sizes:
        goals = size["goals"]["first"]
        # Of one that can be solved the cap may leave positions unseen.
        assert 0 < goals["capped"] <= size["effort"]["capped"]
        assert goals["solvable"] + goals["unsolvable"] + goals["capped"] == 25
        least, most = 4 * goals["solvable"], 4 * (goals["solvable"] + goals["capped"])
        assert f"{least:.1f}-{most:.1f} %" in printed
        assert size["effort"]["positions"]["most"] == 50


@pytest.mark.slow
def test_shortened_solutions_have_a_table(hakoiri: Hakoiri) -> None:
    line = ("study", "deals", "superpuzz", "--sizes", "3", "--deals", "12", "--strategy", "dfs", "--shorten")
    printed = " ".join(hakoiri.here(*line).stdout.split())
    (size,) = hakoiri.ask(*line)["sizes"]
    for goals in size["goals"].values():
        steps = {"found": goals["moves"], **goals["steps"], "shortest": goals["shortest"]}
        assert [*steps] == ["found", "revisits", "aces", "components", "twice", "shortcuts", "shortest"]
        for name, moves in steps.items():
            assert f"3 {name} {moves['least']} {moves['mean']:.2f}" in printed
        means = [moves["mean"] for moves in steps.values()]
        assert means == sorted(means, reverse=True)
        assert goals["moves"]["mean"] > goals["shortened"]["mean"] == means[-2]
        assert 0 < goals["shortest_after"]["shortcuts"] <= goals["solvable"]


# Redis


@pytest.mark.ci_slow
def test_what_is_there_is_printed_without_any_server(hakoiri: Hakoiri) -> None:
    first = hakoiri.here(*SMALL)
    nowhere = hakoiri.here(*SMALL, "--redis", "redis://127.0.0.1:1/0")
    assert nowhere.stdout == first.stdout
    refused = hakoiri.here(*SMALL[:-1], "13", "--redis", "redis://:secret@127.0.0.1:1/0", check=False)
    assert refused.code == 1
    assert "secret" not in refused.error
    assert "; continue with: hakoiri resume " in refused.error


# Boards and sizes

BOARDS = ("study", "boards", "--size", "3x3", "--pieces", "2x1:* 1x2:* 1x1:*")


def test_boards_are_told_in_a_table_in_json_and_by_component(hakoiri: Hakoiri, tmp_path: Path) -> None:
    target, exported = tmp_path / "boards.csv", tmp_path / "exported.csv"
    printed = hakoiri.here(*BOARDS, "--csv", str(target)).stdout
    found = hakoiri.ask(*BOARDS)
    names = ("mixes", "configurations", "components", "isolated", "largest_component", "diameter")
    assert [found[name] for name in names] == [10, 896, 29, 0, 126, 19]
    assert (found["mix"], found["pair"]) == ("2x1:0 1x2:1 1x1:5", ["ABC/ADE/F..", "ABC/DEC/.F."])
    assert found["diameters"]["19"] == 2
    assert "largest diameter 19" in " ".join(printed.split())
    hakoiri.here("export", "last", "--to", str(exported))
    assert rows_of(target) == rows_of(exported)
    assert len(rows_of(target)) == 29
    assert "29 rows written" in hakoiri.here("export", "last", "--to", str(exported)).stdout


def test_sizes_are_told_and_written_as_b_files(hakoiri: Hakoiri, tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    printed = hakoiri.here("study", "sizes", "pancakes", "--sizes", "2..4", "--b-files", str(folder))
    assert "6 tables written to" in printed.stderr
    assert (folder / "b-depth.txt").read_text(encoding="utf-8") == "2 1\n3 3\n4 4\n"
    found = hakoiri.ask("study", "sizes", "pancakes", "--sizes", "5")
    assert [sum(row["layers"]) for row in found["rows"]] == [120]
    assert (found["members"], found["configurations"]) == (1, 120)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("gap --ranks 3..4 --deals 5", "deals gap --sizes 3..4 --deals 5"),
        ("superpuzz --columns=4 --strategy dfs", "deals superpuzz --sizes=4 --strategy dfs"),
        ("coins.py:Coins --sizes 4", "deals coins.py:Coins --sizes 4"),
        ("tiles --n 4..12 -o metric=multi", "sizes tiles --sizes 4..12 -o metric=multi"),
        ("pancakes --n=4", "sizes pancakes --sizes=4"),
    ],
)
def test_a_puzzle_in_place_of_the_kind_of_study_is_answered_with_the_command(
    old: str, new: str, hakoiri: Hakoiri
) -> None:
    refused = hakoiri.here("study", *old.split(), check=False)
    puzzle = old.partition(" ")[0]
    assert (refused.code, refused.stdout) == (1, "")
    assert refused.stderr == f"hakoiri: 'study {puzzle}' is not a command; use: hakoiri study {new}\n"


# The commands ``hunt`` and ``verify FILE.json``: refusals, kills with real signals, and RQ workers against threads


SMALL_HUNT = ("hunt", "gap", "-o", "ranks=3", "--legs", "4")
LONG = ("hunt", "gap", "-o", "ranks=5", "--time", "1h")


def records(hakoiri: Hakoiri) -> list[Record]:
    for run in run_directories(hakoiri.data):
        with opened(run) as job:
            return list(job.records())
    return []


def has_records(hakoiri: Hakoiri) -> bool:
    return len(records(hakoiri)) > 1


def without_times(found: dict[str, Any]) -> dict[str, Any]:
    best = {name: value for name, value in found["best"].items() if name not in ("seconds", "when")}
    return {name: found[name] for name in ("legs", "deals", "positions")} | {"score": best["score"]}


def test_a_hunt_prints_its_records_and_a_certificate_that_verify_derives_again(hakoiri: Hakoiri) -> None:
    printed = hakoiri.here(*SMALL_HUNT, "--maximise", "moves")
    (run,) = run_directories(hakoiri.data)
    target = run.with_suffix(".json")
    certificate = json.loads(target.read_text(encoding="utf-8"))
    flat = " ".join(printed.stdout.split())
    assert f"most moves {certificate['figures']['moves']}" in flat
    assert certificate["deal"].replace("/", " ") in flat
    assert f"verify it with: hakoiri verify {target}" in printed.stderr
    found = hakoiri.ask(*SMALL_HUNT, "--maximise", "moves")
    assert found["best"]["figures"] == certificate["figures"]
    assert found["legs"] == 4
    assert found["certificate"] == str(target)
    verified = hakoiri.ask("verify", str(target), "--full")
    assert (verified["certificate"], verified["ok"]) == (str(target), True)
    assert verified["checked"]["configurations"] == certificate["figures"]["positions"]
    assert hakoiri.here("verify", str(target)).stdout.startswith("sound: checked")


def test_the_certificate_in_the_docs_is_sound_in_form() -> None:
    from hakoiri.coordinator.runs.certificate import read_certificate
    from tests.support.commands import ROOT

    found = read_certificate(ROOT / "docs" / "reports" / "hardest-gap-7.json")
    assert found.figures.positions == sum(layer.size for layer in found.layers) > 1_000_000
    assert found.figures.depth == len(found.layers) - 1


def test_nothing_found_is_said(hakoiri: Hakoiri) -> None:
    printed = hakoiri.here("hunt", "gap", "-o", "ranks=3", "--legs", "1", "--cap", "2")
    assert "no record found yet" in printed.stderr
    assert "deals tried" in printed.stdout
    assert hakoiri.ask("hunt", "gap", "-o", "ranks=3", "--legs", "1", "--cap", "2")["best"] is None


@pytest.mark.ci_slow
def test_a_killed_hunt_keeps_every_record_that_it_announced(hakoiri: Hakoiri) -> None:
    running = hakoiri.start(*LONG)
    wait_until(lambda: has_records(hakoiri), what="records")
    announced = re.findall(r"record: ([\d,]+) positions: (.*)", running.kill().stderr)
    before = records(hakoiri)
    assert len(before) > 1
    (run,) = run_directories(hakoiri.data)
    with opened(run) as job:
        bests = {(f"{leg.best_score:,}", leg.best) for leg in job.stored().values()}
        legs = HuntFigures.of(job.store.state).legs
    assert announced
    assert set(announced) <= bests
    again = hakoiri.ask(*LONG[:-2], "--legs", str(legs + 2))
    assert again["legs"] >= legs + 2
    # Legs that land later may stand before those that were there: a record in between no longer counts.
    assert again["best"]["score"] >= before[-1].score


@pytest.mark.ci_slow
def test_rq_workers_hunt_as_threads_do(hakoiri: Hakoiri, farm: Workers, tmp_path: Path) -> None:
    with by_workers():
        farmed = hakoiri.ask(*SMALL_HUNT, "--redis", farm.url)
    alone = hakoiri.ask(*SMALL_HUNT, data=tmp_path / "other")
    assert without_times(farmed) == without_times(alone)


def stand_still_after(deals: int) -> None:
    """Make each deal durable by itself, and stop as SIGSTOP does as soon as there are more than so many."""
    stand_still_beyond("deals_done", deals)


@pytest.mark.ci_slow
def test_a_killed_study_and_an_interrupted_one_go_on(hakoiri: Hakoiri) -> None:
    line = ("study", "deals", "superpuzz", "--sizes", "3,5", "--deals", "40", "--seed", "2")

    def there() -> list[Deal]:
        for run in run_directories(hakoiri.data):
            with opened(run) as job:
                return list(job.stored().values())
        return []

    running = hakoiri.start(*line, before=partial(stand_still_after, 40))
    running.stands_still()
    assert running.kill().code == -signal.SIGKILL
    killed = there()
    assert 40 < len(killed) < 80
    assert hakoiri.ask("status", "last")["status"] == "interrupted"

    again = hakoiri.start(*line, "--json", before=partial(stand_still_after, len(killed)))
    again.stands_still()
    again.send(signal.SIGINT)
    again.send(signal.SIGCONT)
    interrupted = again.finish()
    assert interrupted.code == 130
    assert interrupted.json["complete"] is False
    assert f"{len(killed)} deals are done" in interrupted.stderr
    left = there()
    assert len(killed) < len(left) < 80

    (command,) = re.findall("interrupted: stopped by SIGINT; continue with: hakoiri (.*)", interrupted.stderr)
    finished = hakoiri.here(*shlex.split(command))
    assert f"{len(left)} deals are done" in finished.stderr
    last = there()
    assert len(last) == 80
    # With their seconds: what was kept is as it was, and searched once.
    assert set(killed) <= set(left) <= set(last)


def test_a_study_that_may_need_more_memory_than_it_has_says_what_to_change(hakoiri: Hakoiri) -> None:
    refused = hakoiri.here("study", "deals", "gap", "--sizes", "4", "--memory", "1MB", check=False)
    assert (refused.code, refused.stdout) == (1, "")
    assert "above the limit of 1 MB; lower --cap; set --memory " in refused.error
    assert refused.stderr == f"{refused.error}\n", "more than one line"


# Cosets

COSETS = ("study", "cosets", str(FOLDER / "pyraminx.json"), "--seed", "3")


@pytest.mark.ci_slow
def test_rq_workers_fill_cosets_as_threads_do(hakoiri: Hakoiri, farm: Workers, tmp_path: Path) -> None:
    with by_workers():
        farmed = hakoiri.ask(*COSETS, "--redis", farm.url)
    alone = hakoiri.ask(*COSETS, data=tmp_path / "other")
    assert (farmed["rows"], farmed["god"]) == (alone["rows"], 11)
    assert hakoiri.ask("verify", "last", "--full")["ok"]


def test_a_killed_study_of_cosets_goes_on(hakoiri: Hakoiri) -> None:
    definition = (FOLDER / "2x2x2.gap").read_text(encoding="utf-8")
    file = hakoiri.data.parent / "cube.gap"
    file.write_text(definition, encoding="utf-8")
    line = ("study", "cosets", str(file), "--cosets", "40")
    running = hakoiri.start(*line, before=partial(stand_still_beyond, "cosets_done", 10))
    running.stands_still()
    assert running.kill().code == -signal.SIGKILL
    # What was read is pinned: the file is not needed to go on.
    file.unlink()
    found = hakoiri.ask("resume", "last")
    assert (found["status"], found["cosets_done"], found["whole"]) == ("complete", 40, 729)
    assert found["positions"] == 40 * 5_040
    assert found["at_least"] <= 11 <= found["at_most"]
    printed = " ".join(hakoiri.here("status", "last").stdout.split())
    assert "cosets done 40 positions" in printed
    assert hakoiri.ask("verify", "last")["checked"]["cosets"] == 2
