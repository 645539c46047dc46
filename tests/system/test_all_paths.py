"""The commands ``path --count``, ``--all`` and ``--avoid``, and ``hardest`` of a run and of what belongs to it."""

from pathlib import Path

from tests.support.commands import FinishedRuns, Hakoiri

NEAR = "ABBC/ABBC/DEEF/DGHF/.IJ."


def test_shortest_paths_are_counted_and_listed(finished: FinishedRuns) -> None:
    hakoiri, run = finished.hakoiri, finished.explored["run"]
    assert hakoiri.ask("path", run, "--to", NEAR, "--count") == {"run": run, "length": 2, "count": 2}
    listed = hakoiri.ask("path", run, "--to", NEAR, "--all", "--limit", "1")
    assert (listed["count"], [one["moves"] for one in listed["paths"]]) == (2, [["I right", "J left"]])
    assert listed["paths"][0]["configurations"][-1] == NEAR
    printed = hakoiri.here("path", run, "--to", NEAR, "--all", "--limit", "1").stdout
    assert printed == "1: I right, J left\n2 shortest paths of 2 moves, 1 more with --limit\n"
    between = hakoiri.ask("path", run, "--to", NEAR, "--avoid", "****/****/****/****/I.J.", "--all")
    assert between["count"] == 1


def test_a_film_shows_one_path(finished: FinishedRuns, tmp_path: Path) -> None:
    line = ("path", finished.explored["run"], "--all", "--film", str(tmp_path / "film.svg"))
    assert "--film cannot be combined with --count or --all" in finished.hakoiri.here(*line, check=False).error


def test_hardest_answers_by_either_name(finished: FinishedRuns, hakoiri: Hakoiri) -> None:
    run = finished.copy(finished.explored, hakoiri.data).name
    found = hakoiri.ask("hardest", run, "--limit", "1")
    assert (found["run"], found["distance"], found["count"], len(found["configurations"])) == (run, 126, 4, 1)
    assert hakoiri.ask("hardest", found["distances"], "--limit", "1") == found
    assert "126 moves from a goal" in hakoiri.here("hardest", "last").stdout
    assert hakoiri.ask("verify", found["distances"])["ok"]
    queued = hakoiri.ask("hardest", run, "--queue")
    assert (queued["run"], queued["status"]) == (found["distances"], "queued")
    assert hakoiri.ask("delete", run, "--yes")["runs"] == [found["distances"], run]
