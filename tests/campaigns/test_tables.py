"""The tables: data file, verdicts, costs over kills and stops, books, both pages, and in CI the short entries."""

import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import pytest

from campaigns.tables import figures
from campaigns.tables.desk import Desk
from campaigns.tables.entries import Claim, Entry, Part, read_parts
from campaigns.tables.figures import axes, cars, drawn
from campaigns.tables.picture import points
from campaigns.tables.results import PAGES, pages, read
from campaigns.tables.stars import orbits
from campaigns.tables.work import carried_out, unexpected
from hakoiri.api import census
from hakoiri.coordinator.runs.certificate import verify_file
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.keys.layout import ints
from tests.campaigns.short import in_short

PARTS = read_parts()
_MANY = 300_000
#: Stands for Hakoiri: its run goes on for ever, until another process resumes it.
_PROGRAM = f"""
import json, pathlib, signal, sys
command, name, *_, = sys.argv[1:]
data = pathlib.Path(sys.argv[sys.argv.index("--data") + 1])
with (data / "calls").open("a") as calls:
    print(*sys.argv[1:3], file=calls)
if command in ("run", "refuse"):
    (data / "layers").write_bytes(b"x" * {_MANY})
    if command == "refuse":
        sys.exit("refused: no such puzzle")
    while True:
        signal.pause()
if command == "export":
    pathlib.Path(sys.argv[sys.argv.index("--to") + 1]).write_text("a certificate")
said = {{"status": "complete", "digest": "abc", "configurations": 6, "seconds": 0.5, "stored_bytes": 9, "depth": 3}}
print(json.dumps(said | {{"layers": [1, 2, 2, 1], "checked": {{"layers": 4}}, "sampled": False}}))
"""
_ROW = {name: f"0:{name}" for name in ("configurations", "depth", "layers")}


def toy(kills: tuple[int, ...] = (), first: str = "run") -> Entry:
    return Entry("3", ((first, "toy"), ("path", "last")), _ROW, kills=kills, verify=("verify", "last"))


def made(entry: Entry, place: Desk) -> dict[str, Any]:
    return carried_out(entry, place, {})


def desk(place: Path, late: Callable[[], bool] = lambda: False) -> Desk:
    program = place / "program.py"
    place.mkdir(exist_ok=True)
    program.write_text(_PROGRAM, encoding="utf-8")
    return Desk(place, None, None, late, (sys.executable, "-S", str(program)))


def calls(place: Path) -> list[str]:
    return (place / "data" / "calls").read_text().splitlines()


def results() -> dict[str, Any]:
    return dict(read())


def verdict(ours: Any, paper: Any = 8, **kind: Any) -> str:
    return Claim("table 1", "moves", paper, "0:moves", **kind).verdict(ours)


@pytest.mark.parametrize(
    ("ours", "kind", "expected"),
    [
        (8, {}, "agrees"),
        (7, {}, "differs"),
        (7, {"holds": "ours < paper"}, "agrees"),
        (9, {"holds": "ours < paper"}, "differs"),
        (7, {"always": "ours < paper"}, "agrees"),
        (9, {"always": "ours < paper"}, "refuted"),
        ({"mean": 7, "odds": 0.051}, {"chance": "odds"}, "agrees"),
        ({"mean": 7, "odds": 0.049}, {"chance": "odds"}, "unexplained"),
        ({"odds": 1.0, "sure": False, "wide": 0.025}, {"chance": "odds"}, "too few deals"),
        ({"odds": 1.0, "sure": False, "wide": 0.024}, {"chance": "odds"}, "agrees"),
        (7, {"asked": True}, "answered"),
        (None, {"always": "ours < paper"}, "not run"),
    ],
)
def test_each_verdict_follows_from_both_figures(ours: Any, kind: dict[str, Any], expected: str) -> None:
    assert verdict(ours, **kind) == expected


def claims() -> list[tuple[str, Claim, Any]]:
    """Each claim that has commands with the kept figure."""
    kept = results()["parts"]
    return [
        (f"{part.name}: {claim.name}", claim, kept[part.name][entry.name]["row"][claim.name])
        for part in PARTS.values() for entry in part.entries for claim in entry.claims if claim.ours
    ]  # fmt: skip


def test_no_verdict_is_put_in_by_hand() -> None:
    """Conditions speak of our figure: none has the same value whatever it is."""
    for name, claim, _ in claims():
        for condition in filter(None, (claim.holds, claim.always, claim.chance)):
            code = compile(condition, name, "eval")
            assert {*code.co_names} - {"all", "max", "min", "sorted", "zip", "abs", "paper"}, name


def test_every_claim_was_run_and_none_differs_without_a_reason() -> None:
    missing = [name for name, claim, ours in claims() if claim.verdict(ours) == "not run"]
    assert missing == []
    kept = results()["parts"]
    lines = [(PARTS[name], {"entry": entry} | line) for name, part in kept.items() for entry, line in part.items()]
    assert [difference for part, line in lines for difference in unexpected(part, line)] == []


def test_the_pages_are_those_of_the_results() -> None:
    for name, text in pages(PARTS, results()).items():
        assert (PAGES / f"{name}.md").read_text(encoding="utf-8") == text


def test_the_interval_of_a_share_is_the_exact_one() -> None:
    """Its ends are the shares that make so many hits, or more extreme ones, as unlikely as 2.5 %."""
    low, high = figures.interval(7, 9, 20)
    assert sum(comb(20, hits) * low**hits * (1 - low) ** (20 - hits) for hits in range(7, 21)) == pytest.approx(0.025)
    assert sum(comb(20, hits) * high**hits * (1 - high) ** (20 - hits) for hits in range(10)) == pytest.approx(0.025)
    assert (figures.interval(0, 0, 5)[0], figures.interval(5, 5, 5)[1]) == (0.0, 1.0)


@pytest.mark.parametrize(("paper", "most", "wide"), [(6, False, 1 - 0.9998**1000), (5, False, 1 / 11), (9, True, 1.0)])
def test_extremes_of_a_sample_have_the_probability_of_binomial_draws(paper: int, most: bool, wide: float) -> None:
    """Two of 10,000 deals have 6 moves, so that 1,000 have one of them with probability 1 - (1 - 2 / 10,000)^1000."""
    answer = {"deals": 10_000, "capped": 0, "moves": {"6": 2, "7": 5_000, "9": 4_998}}
    assert figures.extreme(answer, paper, most)["wide"] == pytest.approx(wide)


@pytest.mark.parametrize("name", ["pancakes-5", "tiles-2x2-single", "towers-4-discs-5-pegs"])
def test_certificates_of_the_page_are_true(name: str) -> None:
    report = verify_file(PAGES / "atlas" / f"{name}.json", True, Resources(), Control(), SilentObserver())
    assert report.ok


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_tables_in_short(tmp_path: Path) -> None:
    """The short entries have the digests and verdicts of the pages."""
    kept = results()["parts"]
    for name, part in in_short("tables", tmp_path).items():
        assert part.keys() == {entry.name for entry in PARTS[name].entries if entry.short}
        for entry in PARTS[name].entries:
            if entry.short:
                both: Sequence[dict[str, Any]] = (part[entry.name], kept[name][entry.name])
                assert len({line.get("digest") for line in both}) == 1
                for claim in entry.claims:
                    assert len({claim.verdict(line["row"][claim.name]) for line in both}) == 1


# Magic stars counted by halves that meet: as published


@pytest.mark.parametrize(("points", "published"), [(5, 0), (6, 80), (7, 72), (8, 112), (9, 3_014), (10, 10_882)])
def test_as_many_as_are_published(points: int, published: int) -> None:
    assert orbits(points) == published


# Rush Hour with cars of one cell: all boards of a size by Hakoiri, and by a search in plain Python


_SIZE = 3


def moves_of(board: str) -> list[str]:
    """The boards one move away, cells in reading order: ``r`` moves along its row, ``c`` along its column."""
    hole, found = board.index("."), []
    row, column = divmod(hole, _SIZE)
    for down, right, kind in ((0, 1, "r"), (0, -1, "r"), (1, 0, "c"), (-1, 0, "c")):
        there = (row + down) * _SIZE + column + right
        if 0 <= row + down < _SIZE and 0 <= column + right < _SIZE and board[there] == kind:
            cells = list(board)
            cells[hole], cells[there] = kind, "."
            found.append("".join(cells))
    return found


def boards(along_rows: int) -> list[str]:
    cells = range(_SIZE * _SIZE)
    return [
        "".join("." if cell == hole else "r" if cell in rows else "c" for cell in cells)
        for hole in cells for rows in combinations([cell for cell in cells if cell != hole], along_rows)
    ]  # fmt: skip


def distances(starts: list[str]) -> dict[str, int]:
    found = dict.fromkeys(starts, 0)
    queue = deque(starts)
    while queue:
        board = queue.popleft()
        for other in moves_of(board):
            if other not in found:
                found[other] = found[board] + 1
                queue.append(other)
    return found


@pytest.mark.filterwarnings("ignore:.*pieces of one shape are the same")
@pytest.mark.parametrize("along_rows", [1, 4, 7])
def test_the_hardest_boards_are_those_of_a_search_in_plain_python(along_rows: int, tmp_path: Path) -> None:
    start = cars(_SIZE)
    options = {"axis": axes(_SIZE, along_rows), "goal": "r**/***/***".replace("r", start[0])}
    run = census("sliding", options, start=start, diameters="none", data=tmp_path)
    with closing(run):
        total, hardest = sum(run.layer_sizes), run.hardest()
        found = {drawn(run.puzzle.render(key), along_rows).replace("/", "") for key in ints(hardest.configurations)}
    known = distances([board for board in boards(along_rows) if board[0] == "r"])
    most = max(known.values())
    assert (hardest.distance, found) == (most, {board for board in known if known[board] == most})
    assert (total, hardest.dead) == (9 * comb(8, along_rows), 9 * comb(8, along_rows) - len(known))


def test_all_mixes_are_entries() -> None:
    names = [entry.name for entry in read_parts()["cars"].entries]
    assert names == [f"{size}x{size}, {rows} along rows" for size in (4, 5) for rows in range(1, size * size - 1)]


def test_a_claim_without_a_command_has_no_other_verdict() -> None:
    assert Claim("section 1", "seconds", 8).verdict(None) == "cannot be known"
    assert Claim("section 1", "hard", "yes", cited=True).verdict(None) == "cited"


def test_what_differs_in_more_than_size_is_drawn_as_lines_of_its_own() -> None:
    entries = ("2x6 single", "3x4 single", "2x6 multi", "12 discs, 4 pegs", "11 discs, 5 pegs", "9")
    cost = {"cpu_seconds": 1.0, "peak_bytes": None, "disk_bytes": 9}
    line = {"stored_bytes": 9, "configurations": _MANY, "row": {"layers": [1]}, "costs": [cost], "seconds": 1.0}
    part = Part("atlas", "toys", "Toys", "", ())
    found = [series for series, _ in points([part], {"toys": dict.fromkeys(entries, line)})]
    assert found == ["Toys, single"] * 2 + ["Toys, multi", "Toys, 4 pegs", "Toys, 5 pegs", "Toys"]
