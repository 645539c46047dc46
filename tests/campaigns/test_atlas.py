"""The atlas: what a command costs over kills and stops, its books, its page, and in CI its smallest rows."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import comb
from pathlib import Path

import pytest

from campaigns.atlas.entries import Answer, Entry, Known, Part, Row
from campaigns.atlas.measuring import Desk, FailedError, StoppedError
from campaigns.atlas.page import CERTIFICATES, PAGE, RESULTS, page, summary
from campaigns.atlas.picture import points
from campaigns.atlas.registry import PARTS
from campaigns.atlas.solitaires import interval
from campaigns.atlas.work import carried_out, finished, known_otherwise, tidied
from hakoiri.coordinator.deals.certificate import verify_file
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from tests.campaigns.short import in_short

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


def toy_rows(answers: Sequence[Answer]) -> list[Row]:
    return [{"row": "3"} | {name: answers[0][name] for name in ("configurations", "depth", "layers", "digest")}]


def toy(kills: tuple[int, ...] = (), first: str = "run") -> Entry:
    return Entry("three", ((first, "toy"), ("path", "last")), toy_rows, kills=kills)


def desk(place: Path, late: Callable[[], bool] = lambda: False, data: Path | None = None) -> Desk:
    program = place / "program.py"
    place.mkdir(exist_ok=True)
    program.write_text(_PROGRAM, encoding="utf-8")
    return Desk(place, data, None, late, (sys.executable, "-S", str(program)))


def test_a_run_that_is_killed_is_gone_on_with(tmp_path: Path) -> None:
    found = carried_out(toy((_MANY // 2,)), desk(tmp_path))
    assert (tmp_path / "data" / "calls").read_text().splitlines() == [
        "run toy",
        "resume last",
        "path last",
        "verify last",
    ]
    first, second = found["costs"]
    assert (first["kills"], second["kills"]) == (1, 0)
    # It may be killed in the midst of writing them.
    assert first["disk_bytes"] > _MANY // 2
    assert first["seconds"] >= first["cpu_seconds"] > 0
    assert second["peak_bytes"] > 1_000_000
    assert (found["digest"], found["computing_seconds"], found["verified"]["checked"]) == ("abc", 0.5, {"layers": 4})
    tidied(desk(tmp_path))
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
        carried_out(toy(), desk(tmp_path, (tmp_path / "data" / "layers").exists))
    spent = desk(tmp_path).beside("0").spent
    assert spent.seconds > 0
    assert carried_out(toy(), desk(tmp_path))["costs"][0]["seconds"] > spent.seconds
    assert (tmp_path / "data" / "calls").read_text().splitlines() == [
        "run toy",
        "resume last",
        "path last",
        "verify last",
    ]


def test_of_a_run_that_has_one_the_certificate_is_kept(tmp_path: Path) -> None:
    found = carried_out(replace(toy(first="study"), certified=True), desk(tmp_path))
    assert found["certificate"] == "a certificate"
    assert (tmp_path / "data" / "calls").read_text().splitlines()[-1] == "export last"


def test_what_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(FailedError, match="refuse toy: exit code 1: refused: no such puzzle"):
        carried_out(toy(first="refuse"), desk(tmp_path))


def test_a_finished_run_is_taken_with_the_time_of_its_record(tmp_path: Path) -> None:
    run = tmp_path / "data" / "mine"
    run.mkdir(parents=True)
    (run / "data.mdb").write_bytes(b"x" * _MANY)
    found = finished(toy(), run, desk(tmp_path / "notes", data=run.parent))
    assert (run.parent / "calls").read_text().splitlines() == ["status mine", "resume mine", "verify mine"]
    (cost,) = found["costs"]
    assert (cost["seconds"], cost["cpu_seconds"], cost["peak_bytes"]) == (0.5, None, None)
    assert cost["disk_bytes"] >= _MANY
    assert run.exists()


def test_the_page_tells_what_is_published_what_differs_and_what_was_not_run(tmp_path: Path) -> None:
    part = Part(
        "toys", "Toys", "Small ones.", {name: name for name in ("configurations", "depth", "layers", "digest")},
        (toy(), Entry("four", (("run", "other"),), toy_rows)),
        (Known("configurations", "a book", {"3": 6}), Known("depth", "a table", {"3": 4})), {"layers": "OEIS"}, ("3",),
    )  # fmt: skip
    line = {"part": "toys"} | carried_out(toy((_MANY // 2,)), desk(tmp_path))
    assert known_otherwise(part, line["rows"]) == ["3: depth is 3, a table has 4"]
    results = summary([line], {"toys": part}, {})
    told = page(results, {"toys": part})
    assert "| 3 | 6 ✓ | 3 (published: 4) | 4 ° | abc |" in told
    assert "Published: configurations: a book; depth: a table." in told
    assert "° layers: looked for in OEIS." in told
    assert "Layers of 3: 1, 2, 2, 1." in told
    assert "- four: `hakoiri run other`" in told
    assert "| 1 | `abc` | `verify last`: 4 layers |" in told
    assert "| `path last` |" in told
    [entry] = results["parts"]["toys"]["entries"]
    assert summary([], {"toys": part}, {("toys", "three"): entry}) == results, "what is published stays"


def test_what_differs_in_more_than_size_is_drawn_as_lines_of_its_own() -> None:
    entries = ("2x6 single", "3x4 single", "2x6 multi", "12 discs, 4 pegs", "11 discs, 5 pegs", "9")
    cost = {"cpu_seconds": 1.0, "peak_bytes": None, "disk_bytes": 9}
    line = {"stored_bytes": 9, "configurations": _MANY, "rows": [{"layers": [1]}], "costs": [cost]}
    made = [line | {"entry": entry, "computing_seconds": 1.0} for entry in entries]
    found = [series for series, _ in points({"parts": {"toys": {"title": "Toys", "entries": made}}})]
    assert found == ["Toys, single"] * 2 + ["Toys, multi", "Toys, 4 pegs", "Toys, 5 pegs", "Toys"]


def test_the_interval_of_a_share_is_the_exact_one() -> None:
    """Its ends are the shares that make so many hits, or more extreme ones, as unlikely as 2.5 %."""
    low, high = interval(7, 9, 20)
    assert sum(comb(20, hits) * low**hits * (1 - low) ** (20 - hits) for hits in range(7, 21)) == pytest.approx(0.025)
    assert sum(comb(20, hits) * high**hits * (1 - high) ** (20 - hits) for hits in range(10)) == pytest.approx(0.025)
    assert (interval(0, 0, 5)[0], interval(5, 5, 5)[1]) == (0.0, 1.0)


def test_the_page_is_that_of_the_results() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(json.loads(RESULTS.read_text(encoding="utf-8")), PARTS)


def test_all_rows_of_the_results_are_as_published() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))["parts"]
    rows = [(name, row) for name, part in results.items() for line in part["entries"] for row in line["rows"]]
    assert [difference for name, row in rows for difference in known_otherwise(PARTS[name], [row])] == []


@pytest.mark.parametrize("name", ["pancakes-5", "tiles-2x2-single", "towers-4-discs-5-pegs"])
def test_certificates_of_the_page_are_true(name: str) -> None:
    report = verify_file(CERTIFICATES / f"{name}.json", True, Resources(), Control(), SilentObserver())
    assert report.ok


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_atlas_in_short(tmp_path: Path) -> None:
    """Its rows have the digests of the page."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))["parts"]
    for name, part in in_short("atlas", tmp_path)["parts"].items():
        known = {line["entry"]: line["digest"] for line in kept[name]["entries"]}
        made = {line["entry"]: line["digest"] for line in part["entries"]}
        assert made.keys() == {entry.name for entry in PARTS[name].entries if entry.short}
        assert made.items() <= known.items()
