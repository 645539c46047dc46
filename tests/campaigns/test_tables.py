"""The tables: data file, verdicts, costs over kills and stops, books, both pages, and in CI the short entries."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import comb
from pathlib import Path
from typing import Any

import pytest

from campaigns.tables import atlas, figures, papers
from campaigns.tables.desk import Desk, FailedError, StoppedError
from campaigns.tables.entries import Answer, Claim, Entry, Part, evaluated, read_parts
from campaigns.tables.picture import points
from campaigns.tables.results import PAGES, merged, pages, read
from campaigns.tables.work import carried_out, unexpected
from hakoiri.coordinator.runs.certificate import verify_file
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
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
        (7, {"asked": True}, "answered"),
        (None, {"always": "ours < paper"}, "not run"),
    ],
)
def test_each_verdict_follows_from_both_figures(ours: Any, kind: dict[str, Any], expected: str) -> None:
    assert verdict(ours, **kind) == expected


def test_a_claim_without_a_command_has_no_other_verdict() -> None:
    assert Claim("section 1", "seconds", 8).verdict(None) == "cannot be known"
    assert Claim("section 1", "hard", "yes", cited=True).verdict(None) == "cited"


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


def test_only_the_first_command_of_an_entry_makes_a_run() -> None:
    """A later `run` would resume that of the first."""
    for part in PARTS.values():
        for entry in part.entries:
            assert "run" not in [line[0] for line in entry.lines[1:]] or entry.lines[0][0] != "run", entry


def test_a_field_a_list_of_fields_and_an_expression_of_an_answer() -> None:
    names = {"a": [Answer(sizes=[Answer(moves=7, layers=[1, 2])]), Answer(depth=3)]}
    assert evaluated("0:sizes.0.moves", names) == 7
    assert evaluated("0:sizes.0.moves sizes.0.layers", names) == {"moves": 7, "layers": [1, 2]}
    assert evaluated("a[0].sizes[0].moves + a[1].depth", names) == 10
    with pytest.raises(NameError):
        evaluated("open('file')", names)


def test_entries_are_made_for_all_values() -> None:
    part = read_parts(
        """
        [texts]
        board = "AB/CD"
        [rows]
        run = {depth = "0:depth"}
        [[part]]
        page = "atlas"
        name = "toys"
        title = "Toys"
        text = "Small."
        known = [["depth", "a table", "#x2", 2, [5, 6]]]
        [[part.entry]]
        each = [{rows = "2..3", columns = [2]}, {rows = 7, columns = [8, 9]}]
        with = {cells = "rows * columns"}
        name = "${rows}x$columns"
        lines = ["run toys -o cells=$cells --from '$board'"]
        row = {as = ["run"], cells = "$cells"}
        short = ["3x2"]
        """
    )["toys"]
    assert [entry.name for entry in part.entries] == ["2x2", "3x2", "7x8", "7x9"]
    assert part.entries[1] == Entry(
        "3x2", (("run", "toys", "-o", "cells=6", "--from", "AB/CD"),), {"depth": "0:depth", "cells": 6},  # type: ignore[dict-item]
        short=True, verify=("verify", "last"),
    )  # fmt: skip
    assert part.published("3x2") == {"depth": (6, "a table")}
    assert part.published("7x8") == {}


def test_a_run_that_is_killed_is_gone_on_with(tmp_path: Path) -> None:
    found = made(toy((_MANY // 2,)), desk(tmp_path))
    assert calls(tmp_path) == ["run toy", "resume last", "path last", "verify last"]
    first, second = found["costs"]
    assert (first["kills"], second["kills"]) == (1, 0)
    # It may be killed in the midst of writing them.
    assert first["disk_bytes"] > _MANY // 2
    assert first["seconds"] >= first["cpu_seconds"] > 0
    assert second["peak_bytes"] > 1_000_000
    assert (found["digest"], found["seconds"], found["verified"]["checked"]) == ("abc", 0.5, {"layers": 4})
    assert (tmp_path / "data").exists()


def test_a_program_of_the_campaign_answers_like_a_command(tmp_path: Path) -> None:
    line = ("python", "-c", "print('{\"orbits\": 7}')")
    assert desk(tmp_path).beside("1").answer(line) == {"orbits": 7}
    assert replace(toy(), lines=(("run", "toy"), line)).commands()[0::2] == ["hakoiri run toy", "hakoiri verify last"]
    assert not (tmp_path / "data" / "calls").exists()


def test_what_a_line_prints_into_a_file_later_lines_are_given(tmp_path: Path) -> None:
    program = tmp_path / "echo.py"
    said = "json.dumps({'given': sys.argv[1:]}) if '--json' in sys.argv else 'a board'"
    program.write_text(f"import json, sys; print({said})", encoding="utf-8")
    here = Desk(tmp_path / "desk", program=(sys.executable, "-S", str(program)))
    entry = replace(toy(), lines=(("generate", "toy", ">", "board.txt"), ("optimise", "--from", "board.txt")))
    drawn, played = (here.beside(f"{number}").answer(line) for number, line in enumerate(entry.lines))
    assert (drawn, (here.folder / "board.txt").read_text()) == ({}, "a board\n")
    assert played["given"][:3] == ["optimise", "--from", str(here.folder / "board.txt")]
    assert entry.commands()[:2] == ["hakoiri generate toy > board.txt", "hakoiri optimise --from board.txt"]


def test_what_was_stopped_is_gone_on_with_and_its_cost_counts(tmp_path: Path) -> None:
    with pytest.raises(StoppedError, match="run toy"):
        made(toy(), desk(tmp_path, (tmp_path / "data" / "layers").exists))
    spent = desk(tmp_path).beside("0").spent
    assert spent.seconds > 0
    assert made(toy(), desk(tmp_path))["costs"][0]["seconds"] > spent.seconds
    assert calls(tmp_path) == ["run toy", "resume last", "path last", "verify last"]


def test_of_a_run_that_has_one_the_certificate_is_kept(tmp_path: Path) -> None:
    found = made(replace(toy(first="study"), certified=True), desk(tmp_path))
    assert found["certificate"] == "a certificate"
    assert calls(tmp_path)[-1] == "export last"


def test_what_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(FailedError, match="refuse toy: exit code 1: refused: no such puzzle"):
        made(toy(first="refuse"), desk(tmp_path))


def test_other_commands_and_other_expressions_are_another_entry() -> None:
    assert len({toy().asked, toy(first="study").asked, replace(toy(), row={"depth": "0:depth"}).asked}) == 3


def test_the_atlas_tells_what_is_published_what_differs_and_what_was_not_run(tmp_path: Path) -> None:
    part = Part(
        "atlas", "toys", "Toys", "Small ones.", (toy(), replace(toy(), name="4", lines=(("run", "other"),))),
        {name: name for name in _ROW}, (("configurations", "a book", {"3": 6}), ("depth", "a table", {"3": 4})),
        {"layers": "OEIS"}, ("3",),
    )  # fmt: skip
    line = {"part": "toys"} | made(toy((_MANY // 2,)), desk(tmp_path))
    assert unexpected(part, line) == ["3: depth is 3, a table has 4"]
    found = merged({}, [line])
    told = atlas.page([part], found, "a machine")
    assert "| 3 | 6 ✓ | 3 (published: 4) | 4 ° |" in told
    assert "Published: configurations: a book; depth: a table." in told
    assert "° layers: looked for in OEIS." in told
    assert "Layers of 3: 1, 2, 2, 1." in told
    assert "- 4: `hakoiri run other`" in told
    assert "| 1 | `abc` | `verify last`: 4 layers |" in told
    assert "| `path last` |" in told
    assert merged(found, []) == found, "what is published stays"


def test_the_page_of_papers_counts_claims_and_lists_the_rest_apart(tmp_path: Path) -> None:
    same, other = (Claim("table 1", f"{word} moves", 3, "0:depth") for word in ("most", "least"))
    beyond = Claim("", "layers", None, "0:layers", beyond=True, shown="{0} and {1}")
    entry = replace(toy(first="study"), row={claim.name: claim.ours for claim in (same, beyond)}, claims=(same, beyond))
    found = merged({}, [{"part": "toys"} | made(entry, desk(tmp_path))])
    more = replace(entry, claims=(same, other, beyond))
    told = papers.page([Part("papers", "toys", "Toys", "Small.", (more,))], found, "a machine")
    assert "2 claims: agrees 1, not run 1." in told
    assert "| 1-2 | table 1 | most moves | 3 | 3 | agrees |  |" in told
    assert (
        "### Beyond the paper\n\n| commands | figure | Hakoiri | note |\n|---|---|---|---|\n| 1-2 | layers | 1 and 2 |"
        in told
    )
    assert "1. `hakoiri study toy` (" in told


def test_what_differs_in_more_than_size_is_drawn_as_lines_of_its_own() -> None:
    entries = ("2x6 single", "3x4 single", "2x6 multi", "12 discs, 4 pegs", "11 discs, 5 pegs", "9")
    cost = {"cpu_seconds": 1.0, "peak_bytes": None, "disk_bytes": 9}
    line = {"stored_bytes": 9, "configurations": _MANY, "row": {"layers": [1]}, "costs": [cost], "seconds": 1.0}
    part = Part("atlas", "toys", "Toys", "", ())
    found = [series for series, _ in points([part], {"toys": dict.fromkeys(entries, line)})]
    assert found == ["Toys, single"] * 2 + ["Toys, multi", "Toys, 4 pegs", "Toys, 5 pegs", "Toys"]


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
