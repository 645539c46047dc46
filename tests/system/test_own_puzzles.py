"""User puzzles: a file on the command line, on workers and in docs/tutorial/own-puzzle.md, and found again."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from hakoiri.puzzles.registry import PuzzleSpec, with_own_file
from hakoiri.puzzles.user.files import FILES
from tests.support.commands import ROOT, Hakoiri, clean_environment
from tests.support.pages import compare_outputs
from tests.support.servers import RedisServer, by_workers, started_workers
from tests.support.user_puzzles import JUGS, ROW, changed, written

LIGHTS = ROOT / "examples" / "lights_out.py"
#: Fewest presses that put out n x n lights, all lit, for n = 2, 3, ...: OEIS A075464.
PRESSES = {2: 4, 3: 5, 4: 4, 5: 15}
# What works


def test_a_directed_puzzle_in_plain_python(tmp_path: Path, hakoiri: Hakoiri) -> None:
    """The jugs of 8, 5 and 3 litres take seven pourings (Tartaglia)."""
    found = hakoiri.ask("run", written(tmp_path))
    assert found["puzzle"] == "jugs.py:Jugs"
    assert (found["configurations"], found["goal_depth"], found["start"]) == (16, 7, "8/0/0")
    way = hakoiri.ask("path", "last")["configurations"]
    assert (way[0], way[-1], len(way)) == ("8/0/0", "4/4/0", 8)
    assert hakoiri.ask("verify", "last", "--full")["ok"]
    assert hakoiri.ask("distance", "last", "4/4/0", "--from", "3/5/0")["length"] == 6
    assert hakoiri.ask("show", "--puzzle", written(tmp_path), "3/5/0")["moves"]
    assert re.fullmatch(r"[0-9a-f]{6}-jugs", hakoiri.run_directory().name)


def test_an_option_of_ones_own_puzzle(tmp_path: Path, hakoiri: Hakoiri) -> None:
    for n, presses in PRESSES.items():
        if n < 5:
            found = hakoiri.ask("run", f"{LIGHTS}:LightsOut", "-o", f"n={n}")
            assert (found["goal_depth"], found["configurations"]) == (presses, 2 ** (n * n - 4 * (n == 4)))
    refused = hakoiri.here("run", f"{LIGHTS}:LightsOut", "-o", "n=6", check=False)
    assert "expected a whole number in 2..5" in refused.error


@pytest.mark.parametrize(
    ("name", "moves", "configurations"), [("water_jugs.py:WaterJugs", 7, 16), ("sokoban.py:Sokoban", 33, None)]
)
def test_examples_with_published_lengths(name: str, moves: int, configurations: int | None, hakoiri: Hakoiri) -> None:
    """Tartaglia's jugs take 7 pourings, the first level of Microban 33 steps."""
    assert hakoiri.ask("try", f"{ROOT}/examples/{name}")["ok"]
    found = hakoiri.ask("run", f"{ROOT}/examples/{name}")
    assert found["goal_depth"] == moves
    assert configurations in (None, found["configurations"])


def test_a_text_that_is_drawn_but_not_read(tmp_path: Path, hakoiri: Hakoiri) -> None:
    """Whoever only draws names configurations by their keys."""
    word = written(tmp_path, JUGS.partition("    def parse_text")[0])
    found = hakoiri.ask("run", word)
    assert (found["configurations"], found["start"]) == (16, "0x800")
    assert hakoiri.ask("path", "last", "--to", "0x440")["configurations"][-1] == "4/4/0"
    assert "expected a key as 0x" in hakoiri.here("distance", "last", "4/4/0", check=False).error


def test_what_a_file_prints_does_not_get_into_the_json(tmp_path: Path, hakoiri: Hakoiri) -> None:
    word = written(tmp_path, JUGS + "\nprint('hello')\n")
    done = hakoiri.here("run", word, "--json")
    assert done.json["configurations"] == 16
    assert "hello" in done.stderr


def test_from_python(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from hakoiri.api import explore, open_run\n"
        "with explore(sys.argv[1], data=sys.argv[2]) as run:\n"
        "    assert len(run.path('goal')) == 7\n"
        "with open_run(data=sys.argv[2]) as run:\n"
        "    assert run.puzzle.render(run.puzzle.start) == '8/0/0'\n"
    )
    command = [sys.executable, "-W", "error", "-c", program, written(tmp_path), str(tmp_path / "data")]
    subprocess.run(command, check=True, cwd=tmp_path, env=clean_environment())


# A run finds its file again, or says why not


def test_a_run_is_asked_and_resumed_from_anywhere(tmp_path: Path, hakoiri: Hakoiri) -> None:
    written(tmp_path / "mine")
    made = hakoiri.json("run", "jugs.py:Jugs", cwd=tmp_path / "mine")
    assert len(hakoiri.json("path", "last", cwd=tmp_path)["moves"]) == 7
    assert hakoiri.json("resume", "last", cwd=tmp_path)["digest"] == made["digest"]
    word = f"{tmp_path / 'mine' / 'jugs.py'}:Jugs"
    assert hakoiri.ask("resume", "last", "--puzzle", word, "--from", "8/0/0")["digest"] == made["digest"]


def test_a_file_that_changed_is_refused(tmp_path: Path, hakoiri: Hakoiri) -> None:
    word = written(tmp_path / "mine")
    queued = hakoiri.json("enqueue", word)["run"]
    mark = tmp_path / "mark"
    written(tmp_path / "mine", JUGS + f"\nopen({str(mark)!r}, 'w').close()\n")
    for line in (f"resume {queued}", f"path {queued}", f"verify {queued}", f"layers {queued}"):
        refused = hakoiri(*line.split(), check=False)
        assert refused.code == 1
        assert f"{word.removesuffix(':Jugs')} has changed since (its digest was " in refused.error
        assert "restore the file" in refused.error
    assert not mark.exists(), "a file that is not the run's was run"
    named = hakoiri("resume", queued, "--puzzle", word, check=False)
    assert "has a puzzle file with the digest" in named.error
    written(tmp_path / "mine")
    assert hakoiri.json("resume", queued)["configurations"] == 16


def test_a_file_that_moved_is_found_where_the_variable_says(tmp_path: Path, hakoiri: Hakoiri) -> None:
    word = written(tmp_path / "mine")
    hakoiri.json("run", word)
    (tmp_path / "mine").rename(tmp_path / "moved")
    refused = hakoiri("path", "last", check=False)
    assert f"there is no file {tmp_path / 'mine' / 'jugs.py'}" in refused.error
    assert FILES in refused.error
    written(tmp_path / "other", JUGS + "\n")
    files = os.pathsep.join(str(tmp_path / where / "jugs.py") for where in ("other", "moved"))
    assert hakoiri.json("path", "last", env={FILES: files})["length"] == 7
    assert hakoiri.json("resume", "last", "--puzzle", f"{tmp_path}/moved/jugs.py:Jugs")["configurations"] == 16


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to give a file away")
def test_a_file_of_somebody_else_is_run_only_if_named(tmp_path: Path, hakoiri: Hakoiri) -> None:
    """A run says where its file is, so whoever can write the run must not choose what we run."""
    word = written(tmp_path)
    hakoiri.json("run", word)
    os.chown(tmp_path / "jugs.py", 12_345, 12_345)
    assert "belongs to another user" in hakoiri("path", "last", check=False).error
    assert hakoiri.json("path", "last", env={FILES: str(tmp_path / "jugs.py")})["length"] == 7
    assert hakoiri.json("run", word)["configurations"] == 16


def test_a_changed_file_has_its_own_kernels_whatever_its_date(tmp_path: Path) -> None:
    """numba itself would take a file of the same size and date for the same."""
    found = []
    for step in (1, 2):
        word = written(tmp_path, changed(("key + 1\n", f"key + {step}\n"), text=ROW), "Row")
        os.utime(tmp_path / "row.py", (1e9, 1e9))
        puzzle = with_own_file(PuzzleSpec(word)).build()
        found.append(puzzle.expand(puzzle.keys([100])).successors.tolist())
    assert found == [[99, 101], [99, 102]]


# On workers


def test_workers_know_the_puzzles_that_they_were_told(
    tmp_path: Path, hakoiri: Hakoiri, redis_server: RedisServer
) -> None:
    """One worker told by option, one by the environment; then runs by `run` and by the service, and all the same."""
    word = written(tmp_path)
    digest = hakoiri.ask("run", word)["digest"]
    farmed = ("--redis", redis_server.url, "--farm", "0", "--chunk", "2")
    told = {FILES: str(tmp_path / "jugs.py")}
    with started_workers(hakoiri, redis_server.url, 1, told):
        assert hakoiri.json("run", word, *farmed)["digest"] == digest
        with by_workers():
            hakoiri.here("verify", "last", "--full", "--redis", redis_server.url)
    worker = hakoiri.start("worker", "--puzzle", word, "--redis", redis_server.url)
    worker.wait_for("1 worker processes")
    assert "puzzle jugs.py:Jugs, digest " in worker.stderr
    queued = hakoiri.json("enqueue", word, "--farm", "0", "--chunk", "2")["run"]
    hakoiri("coordinator", "--burst", "--redis", redis_server.url, "--puzzle", word)
    assert hakoiri.ask("status", queued)["status"] == "complete"
    assert hakoiri.json("resume", queued)["digest"] == digest
    assert hakoiri.json("path", queued)["length"] == 7


def test_a_runs_own_workers_are_given_its_file(tmp_path: Path, hakoiri: Hakoiri, redis_server: RedisServer) -> None:
    short = changed(
        ("< 200", "< 20"), ("key < 199", "key < 19"), ("(200", "(20"), ("return 100", "return 10"), text=ROW
    )
    word = written(tmp_path, short, "Row")
    digest = hakoiri.ask("run", word)["digest"]
    redis, farmed = ("--redis", redis_server.url, "--workers", "1"), ("--farm", "0", "--chunk", "2")
    assert hakoiri.json("run", word, *redis, *farmed)["digest"] == digest
    assert hakoiri.json("verify", "last", "--full", *redis)["ok"]
    there = 'if "HAKOIRI_SUPERVISOR" in os.environ and 13 in keys:\n            raise ValueError("lost")\n'
    text = changed(("        room, counts", f"        {there}        room, counts"), text=f"import os\n{short}")
    hakoiri("run", written(tmp_path, text, "Row"), *farmed)
    failed = hakoiri("verify", "last", "--full", *redis, check=False)
    assert re.search(r"task derive failed on worker [^:]+:", failed.error)
    assert "row of row.py: expand of 0xd failed: line 23, ValueError: lost" in failed.error
    failed = hakoiri("run", written(tmp_path, text, "Row"), "--whole", *redis, *farmed, check=False)
    assert re.search(r"task forest failed on worker [^:]+: row of row.py: expand of 0xd failed", failed.error)
    assert hakoiri.ask("status", "last")["status"] == "failed"


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (("--puzzle", "{missing}:Jugs"), "", "there is no file {missing}"),
        (("--puzzle", "{file}:Jars"), "", "jugs.py has no class Jars; it has Jugs"),
        (("--puzzle", "{file}"), "", "needs a class, as in {file}:NAME; it has Jugs"),
        (("--puzzle", "klotski"), "", "'klotski' is not a puzzle file; expected FILE.py:NAME"),
        ((), "{missing}", "there is no file {missing}"),
        ((), "{broken}", "{broken}: line 1, SyntaxError"),
    ],
)
def test_a_worker_that_is_told_nonsense_does_not_start(
    arguments: tuple[str, ...], environment: str, said: str, tmp_path: Path, hakoiri: Hakoiri
) -> None:
    words = {"file": tmp_path / "jugs.py", "missing": tmp_path / "none.py", "broken": tmp_path / "broken.py"}
    written(tmp_path)
    written(tmp_path, "class", "Broken")
    refused = hakoiri.here(
        "worker", "--redis", "redis://127.0.0.1:1/0", *(word.format(**words) for word in arguments),
        env={FILES: environment.format(**words)}, check=False,
    )  # fmt: skip
    assert (refused.code, refused.stdout) == (1, "")
    assert said.format(**words) in refused.error


# The tutorial


TUTORIAL = ROOT / "docs" / "tutorial" / "own-puzzle.md"


def test_the_tutorial_shows_the_example() -> None:
    tutorial = TUTORIAL.read_text(encoding="utf-8")
    (least, whole, *_) = re.findall(r"```python\n(.*?)```", tutorial, re.DOTALL)
    assert whole == LIGHTS.read_text(encoding="utf-8")
    assert len(whole.splitlines()) < 60
    assert f"in {len(whole.splitlines())} lines" in tutorial
    assert len(least.splitlines()) < 20


@pytest.mark.ci_slow
def test_what_the_tutorial_types_prints_what_it_shows(
    tmp_path: Path, hakoiri: Hakoiri, redis_server: RedisServer
) -> None:
    files = iter(("lights.py", "lights_out.py", "coins.py", "lamps.py"))
    environment: dict[str, str] = {}

    def do(step: re.Match[str]) -> str | None:
        if step["file"] is not None:
            (tmp_path / next(files)).write_text(step["file"], encoding="utf-8")
            return None
        words = shlex.split(step["command"].removesuffix(" &"))
        if words[0] == "export":
            environment["HAKOIRI_REDIS"] = redis_server.url
            return None
        if step["command"].endswith(" &"):
            started = hakoiri.start(*words[1:], env=environment, cwd=tmp_path)
            started.wait_for("2 worker processes")
            return None
        done = hakoiri(*words[1:], env=environment, cwd=tmp_path, check=False)
        assert done.code == (1 if step["shown"].startswith("hakoiri: ") else 0), done
        return done.stdout + done.stderr

    assert compare_outputs(TUTORIAL, do) > 10


def test_wrong_pictures_are_one_line(tmp_path: Path, hakoiri: Hakoiri) -> None:
    for body, said in (
        ("        return [None for key in path]", "expected a picture of each of 1 configurations"),
        (
            "        from hakoiri import Part, Picture\n        return [Picture(9, 9, (Part('a', ('b',)),))]",
            "made of shapes",
        ),
        ("        return path[7]", "pictures of 8/0/0 (0x800) failed"),
    ):
        word = written(tmp_path, f"{JUGS}\n    def pictures(self, path):\n{body}\n")
        refused = hakoiri.here("show", "8/0/0", "--puzzle", word, "--plot", str(tmp_path / "jugs.svg"), check=False)
        assert refused.code == 1 and said in refused.error, refused
