"""User puzzles: a file on the command line, on workers and in docs/tutorial/own-puzzle.md, and found again."""

import csv
import os
import re
import shlex
import signal
import subprocess
import sys
from collections import deque
from pathlib import Path
from statistics import mean

import pytest

from hakoiri.cli.puzzles.choosing import starter
from hakoiri.puzzles.conformance.suite import CHECKS, RULES
from hakoiri.puzzles.registry import PuzzleSpec, with_own_file
from hakoiri.puzzles.user.files import FILES
from tests.support.commands import ROOT, Hakoiri, clean_environment
from tests.support.pages import compare_outputs
from tests.support.process_setup import be_the_program
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


@pytest.mark.ci_slow
def test_a_command_ends_whatever_its_puzzle_has_forked(tmp_path: Path, hakoiri: Hakoiri) -> None:
    """As a pool of processes in the rules does."""
    told = tmp_path / "forked"
    forking = f"""
import os, signal
if os.environ.get("HAKOIRI_SUPERVISOR") and not (child := os.fork()):
    signal.pause()
elif os.environ.get("HAKOIRI_SUPERVISOR"):
    with open({str(told)!r}, "w") as file:
        file.write(str(child))
"""
    mine = written(tmp_path, forking + LIGHTS.read_text(encoding="utf-8"), "LightsOut")
    assert hakoiri("run", mine, before=be_the_program).code == 0
    # The forked process still runs: the command did not wait for it.
    os.kill(int(told.read_text(encoding="utf-8")), signal.SIGKILL)


STILL = """
import numpy as np
from hakoiri import U32, Puzzle

class Still(Puzzle):
    name, layout, undirected, most_successors = "still", U32, True, 0

    def usual_start(self):
        return 5

    def successors(self, key):
        return []

    def configurations(self):
        yield np.arange(10, dtype=np.uint32)
"""


@pytest.mark.ci_slow
def test_a_puzzle_without_moves(tmp_path: Path, hakoiri: Hakoiri) -> None:
    mine = written(tmp_path, STILL, "Still")
    assert hakoiri.json("run", mine)["configurations"] == 1
    assert hakoiri.json("run", mine, "--whole")["components"] == 10


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


@pytest.mark.slow
def test_a_solver_adds_the_distances_of_two_pattern_databases(hakoiri: Hakoiri, tmp_path: Path) -> None:
    """The board was made by 12 moves."""
    solver, files = f"{ROOT}/examples/fifteen.py", [str(tmp_path / f"{first}.pdb") for first in (1, 5)]
    for first, file in zip((1, 5), files, strict=True):
        hakoiri.here("run", f"{solver}:FourTiles", "-o", f"first={first}")
        assert "58,608 configurations written" in hakoiri.here("export", "last", "--to", file).stdout
    found = subprocess.run(
        [sys.executable, solver, *files, "4,1,2,3,8,5,7,11,9,14,0,6,12,10,13,15"], capture_output=True, check=True
    )
    assert found.stdout == b"12 moves\n"


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


@pytest.mark.ci_slow
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


@pytest.mark.ci_slow
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


@pytest.mark.ci_slow
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


# A kernel that is wrong about one move: it is blamed, by every command, and not `undirected`, which is right


#: A kernel in plain Python, which need not be compiled.
_EXPAND = """    def expand(self, keys):
        found = [
            key ^ 3 << place ^ 4 * (key == {slip} and place == 0)
            for key in keys.tolist()
            for place in range(self.coins - 1)
        ]
        return Expansion(self.keys(found), np.full(len(keys), self.coins - 1, dtype=np.uint16))

    def is_goal("""
#: Of eight coins, a neighbour of the start; of ten, one that neither the search nor a sample looks at.
_NEAR, _UNSEEN = 0xFC, 0x215
#: A seed of such a sample.
_OVERLOOKING = "20"


def coins(directory: Path, slip: int) -> str:
    _, text = starter("coins.py", directed=False, kernel=False)
    imports = ("from hakoiri import", "import numpy as np\n\nfrom hakoiri import Expansion,")
    return written(directory, changed(imports, ("    def is_goal(", _EXPAND.format(slip=slip)), text=text), "Coins")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Hakoiri:
    return Hakoiri(tmp_path_factory.mktemp("kernels"))


def test_a_failed_run_blames_the_kernel_and_verify_finds_why(here: Hakoiri, tmp_path: Path) -> None:
    said = "coins of coins.py, line 43: expand of TTTTTTHH (0xfc) returns TTTTTHTT (0xfb), "
    said += "successors does not; the two must agree"
    refused = here.here("run", coins(tmp_path, _NEAR), check=False)
    assert refused.error == f"hakoiri: {said}"
    for full in ([], ["--full"]):
        found = here.here("verify", "last", *full, check=False)
        assert (found.code, found.stdout.splitlines()[1:]) == (1, [said])
        assert "the puzzle is wrong, not the file" in found.stderr


def test_trying_it_blames_the_kernel(here: Hakoiri, tmp_path: Path) -> None:
    tried = here.here("try", coins(tmp_path, 0xFFC), "-o", "coins=12", "--json", check=False).json
    wrong = {each["check"]: each["wrong"] for each in tried["checks"]}
    assert (
        wrong["expand"]
        == "successors of TTTTTTTTTTHH (0xffc): expand returns TTTTTTTTTHTT (0xffb), successors does not"
    )
    assert wrong["undirected"] is None


def test_a_sample_says_that_it_is_one_and_in_full_the_kernel_is_blamed(here: Hakoiri, tmp_path: Path) -> None:
    assert here.ask("run", coins(tmp_path, _UNSEEN), "-o", "coins=10")["configurations"] == 1024
    sampled = here.here("verify", "last", "--seed", _OVERLOOKING)
    assert sampled.stdout.startswith("sound: checked ")
    assert sampled.stdout.endswith(f" successors (a sample, --seed {_OVERLOOKING}; --full checks all)\n")
    found = here.here("verify", "last", "--full", check=False)
    assert found.code == 1
    assert f"({_UNSEEN:#x}) returns " in found.stdout
    assert "sample" not in found.stdout
    assert "undirected" not in found.stdout


@pytest.mark.ci_slow
def test_each_verification_looks_elsewhere(here: Hakoiri, tmp_path: Path) -> None:
    """Else what one overlooks all do, and whoever made the run knew."""
    run = here.ask("run", coins(tmp_path, _UNSEEN), "-o", "coins=10")["run"]
    codes = {seed: here.here("verify", run, "--seed", str(seed), check=False).code for seed in range(14, 18)}
    assert {*codes.values()} == {0, 1}
    again = next(seed for seed, code in codes.items() if code)
    assert here.here("verify", run, "--seed", str(again), check=False).code == 1
    found = [here.here("verify", run, "--json", check=False).json for _ in range(3)]
    assert len({each["seed"] for each in found}) == 3
    assert here.here("verify", run, "--full", "--json", check=False).json["seed"] is None


def test_verify_of_a_failed_run_says_that_moves_lead_one_way(here: Hakoiri, tmp_path: Path) -> None:
    _, text = starter("coins.py", directed=True, kernel=False)
    word = written(tmp_path, changed(("undirected = False", "undirected = True"), text=text), "Coins")
    assert here.here("run", word, check=False).error.endswith("which does not lead back; set undirected = False")
    found = here.here("verify", "last", "--json", check=False).json
    assert found["cause"] == "puzzle"
    assert "layer 0: 0xff leads to 0xfc, which does not lead back; set undirected = False" in found["faults"]


# A user's own puzzle: the file that it begins with works, and what is wrong with it is said in words


#: An edit of the starter, the check that refuses it, and what is said.
MISTAKES = [
    ("undirected = False", "undirected = True", "undirected", r"from TTTTTTTT \(0xff\) to .*; set undirected = False"),
    ("most_successors = 23", "most_successors = 5", "rules", "has 7 successors, more than most_successors, 5"),
    ('options = {"coins"', 'options = {"stones"', "rules", "line 31, KeyError: 'coins'"),
    ("return keys == 0", "return keys[0] == 0", "goals", "is_goal returned .* expected bool of shape"),
    ('replace("0", "H")', 'replace("0", "X")', "rules", r"expected 8 coins, H \(heads\) or T \(tails\), not "),
    ('return f"turn {left} and {left + 1}"', 'return "turn"', "moves in words", "have the same description, 'turn'"),
    ("key ^ 0b11 << place for", "key ^ 0b11 << place << 20 for", "rules", r"a successor of TTTTTTTT \(0xff\)"),
    ("def usual_start(self)", "def usual(self)", "", "usual_start"),
]


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Hakoiri:
    return Hakoiri(tmp_path_factory.mktemp("mine"))


@pytest.mark.parametrize("kernel", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_the_file_that_a_puzzle_begins_with_works(mine: Hakoiri, directed: bool, kernel: bool, tmp_path: Path) -> None:
    file = tmp_path / "my_own-puzzle2.py"
    told = mine.ask("new", str(file), *(["--directed"] if directed else []), *(["--kernel"] if kernel else []))
    assert told == {"file": str(file), "puzzle": f"{file}:MyOwnPuzzle2"}
    assert ("def expand" in file.read_text()) == kernel
    tried = mine.ask("try", told["puzzle"])
    assert tried["ok"]
    assert {each["check"] for each in tried["checks"]} == {RULES, *CHECKS}
    assert all(each["wrong"] == "" and each["promise"] for each in tried["checks"])
    found = mine.ask("run", told["puzzle"])
    assert (found["configurations"], found["goal_depth"], found["puzzle"]) == (128, 4, f"{file.name}:MyOwnPuzzle2")
    assert mine.ask("verify", "last", "--full")["ok"]


@pytest.mark.parametrize(("old", "new", "check", "said"), MISTAKES, ids=lambda part: part[:20])
def test_a_mistake_is_found_and_told(mine: Hakoiri, tmp_path: Path, old: str, new: str, check: str, said: str) -> None:
    file = tmp_path / "mistaken.py"
    mine.ask("new", str(file), "--directed")
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))
    shown = mine.here("try", f"{file}:Mistaken", check=False)
    assert shown.code == 1
    if not check:
        assert re.search(said, shown.error)
        return
    lines = shown.stdout.splitlines()
    (broken,) = (number for number, line in enumerate(lines) if line.startswith("BROKEN"))
    assert lines[broken].startswith(f"BROKEN       {check} ")
    assert re.search(said, lines[broken + 1]), lines


@pytest.mark.parametrize("name", ["puzzle", "puzzle.txt", ".py", "___.py"])
def test_a_file_of_another_name_is_refused(mine: Hakoiri, tmp_path: Path, name: str) -> None:
    refused = mine.here("new", str(tmp_path / name), check=False)
    assert "does not end in .py" in refused.error
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_there_stays(mine: Hakoiri, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("precious")
    assert "already exists" in mine.here("new", str(tmp_path / "mine.py"), check=False).error
    assert (tmp_path / "mine.py").read_text() == "precious"


def test_a_built_in_puzzle_is_tried_with_its_options_and_its_mirror_images(mine: Hakoiri) -> None:
    assert mine.ask("try", "klotski", "-o", "metric=finger")["ok"]
    assert mine.ask("try", "sliding", "--from", "AAB/A.B/.BB")["ok"]


# Deals of a user's puzzle: solved, studied and hunted for, against a search in plain Python


#: Coins in a row: any neighbours are turned over together, or an end one alone; all heads up is the goal.
COINS = """\
from itertools import islice

import numpy as np

from hakoiri import U32, ConfigurationError, Dealt, Number
from hakoiri.keys.splitmix import random_words


class Coins(Dealt):
    name = "coins"
    options = {"coins": Number(5, 3, 12)}
    size_option = "coins"
    layout = U32
    undirected = True
    most_successors = 12
    hunted = True

    def usual_start(self):
        return (1 << self.size) - 1

    def successors(self, key):
        return [key ^ 3 << place for place in range(self.size - 1)] + [key ^ 1] * (self.size % 2)

    def is_goal(self, keys):
        return keys == 0

    def random_deal(self, seed, number):
        return self.render(next(random_words((seed << 32) + number)) >> 64 - self.size)

    def varied(self, deal, word):
        return self.render(self.parse(deal) ^ 1 << word % self.size)

    def render(self, key):
        return f"{key:0{self.size}b}"

    def parse_text(self, text):
        if len(text) != self.size or set(text) - set("01"):
            raise ConfigurationError(f"{text!r} is no row of {self.size} coins")
        return int(text, 2)
"""
#: The same, but a coin once turned over by itself stays: directed.
ONE_WAY = changed(
    ("undirected = True", "undirected = False"),
    ('[key ^ 1] * (self.size % 2)', '[key & ~1] * (self.size % 2)'),
    text=COINS,
)  # fmt: skip


def plain(deal: str, directed: bool) -> tuple[int | None, int, int]:
    """Fewest moves to the goal, positions reached and the last layer, by the words of the game."""
    size = len(deal)
    depths = {deal: 0}
    waiting = deque([deal])
    while waiting:
        row = waiting.popleft()
        turned = [
            "".join("10"[int(c)] if place in (at, at + 1) else c for place, c in enumerate(row))
            for at in range(size - 1)
        ]
        if size % 2:
            turned.append(row[:-1] + ("0" if directed or row[-1] == "1" else "1"))
        for other in turned:
            if other not in depths:
                depths[other] = depths[row] + 1
                waiting.append(other)
    return depths.get("0" * size), len(depths), max(depths.values())


puzzles = pytest.mark.parametrize(("text", "directed"), [(COINS, False), (ONE_WAY, True)], ids=["coins", "one-way"])


@pytest.mark.ci_slow
@puzzles
def test_a_study_of_a_user_s_puzzle_is_that_of_plain_searches(
    text: str, directed: bool, hakoiri: Hakoiri, tmp_path: Path
) -> None:
    word, target = written(tmp_path, text, "Coins"), tmp_path / "deals.csv"
    line = ("study", "deals", word, "--sizes", "3..6", "--deals", "12", "--csv", str(target))
    found = hakoiri.ask(*line)
    with target.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["size"], row["number"]) for row in rows] == [(size, str(n)) for size in "3456" for n in range(12)]
    for row in rows:
        moves, _, _ = plain(row["deal"], directed)
        assert (row["moves_first"] or None) == (None if moves is None else str(moves))
        assert row["outcome_first"] == ("unsolvable" if moves is None else "solvable")
    assert {row["outcome_first"] for row in rows} == {"solvable", "unsolvable"}
    for size in found["sizes"]:
        known = [int(row["moves_first"]) for row in rows if row["size"] == str(size["coins"]) and row["moves_first"]]
        assert size["goals"]["first"]["moves"]["mean"] == pytest.approx(mean(known))
    assert "the goal: moves of the deals that can be solved" in hakoiri.here(*line).stdout


@puzzles
def test_deals_of_a_user_s_puzzle_are_solved(text: str, directed: bool, hakoiri: Hakoiri, tmp_path: Path) -> None:
    word = written(tmp_path, text, "Coins")
    deals = hakoiri.here("deal", word, "--count", "9").stdout
    file = tmp_path / "deals.txt"
    file.write_text(deals, encoding="utf-8")
    for one in hakoiri.ask("solve", word, str(file))["deals"]:
        moves, _, _ = plain(one["deal"], directed)
        assert one["moves"] == moves
        assert one["solution"] is None or one["solution"][-1:] == ["to 00000"] * bool(moves)
    wrong = hakoiri.here("solve", word, "0120", check=False)
    assert "'0120' is no row of 5 coins" in wrong.error


@pytest.mark.ci_slow
@puzzles
@pytest.mark.parametrize(("objective", "figure"), [("moves", 0), ("depth", 2)])
def test_hard_deals_of_a_user_s_puzzle_are_hunted_for(
    objective: str, figure: int, text: str, directed: bool, hakoiri: Hakoiri, tmp_path: Path
) -> None:
    word = written(tmp_path, text, "Coins")
    best = hakoiri.ask("hunt", word, "--maximise", objective, "--legs", "4")["best"]
    every = (plain(f"{number:05b}", directed)[figure] for number in range(32))
    assert best["score"] == max(value for value in every if value is not None)
    assert plain(best["deal"], directed)[figure] == best["score"]
    refused = hakoiri.here("hunt", word, "--certificate", str(tmp_path / "certificate.json"), check=False)
    assert "is not a built-in puzzle, so it has no certificate" in refused.error


def test_a_puzzle_whose_deals_cannot_be_varied_has_no_hunts(hakoiri: Hakoiri, tmp_path: Path) -> None:
    word = written(tmp_path, changed(("    hunted = True\n", ""), text=COINS), "Coins")
    refused = hakoiri.here("hunt", word, check=False)
    assert "does not support hunts; puzzles that do: gap and sliding" in refused.error


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("return self.render(next", "return 7 // 0 * self.render(next", "random_deal"),
        ('size_option = "coins"', 'size_option = "metric"', "metric"),
    ],
)
def test_mistakes_of_a_user_s_deals_are_one_line(
    old: str, new: str, said: str, hakoiri: Hakoiri, tmp_path: Path
) -> None:
    word = written(tmp_path, changed((old, new), text=COINS), "Coins")
    refused = hakoiri.here("study", "deals", word, "--sizes", "3", check=False)
    assert refused.code == 1
    assert said in refused.error
