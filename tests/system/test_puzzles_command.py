"""The list of puzzles (`hakoiri puzzles`), and the ways to choose a board: files, --from, --goal, --whole."""

import subprocess
import tomllib
from pathlib import Path

import pytest

from hakoiri.puzzles.registry import PUZZLES, puzzle_class
from tests.support.commands import HAKOIRI, ROOT, START_OF_2, Hakoiri

#: Dad's puzzle: 1,398 configurations from the start, eccentricity 112, diameter 145.
DAD = "AABB/AACC/DE../FGHH/FGII"
#: Which puzzles a user can ask what of, as their own pages say.
DIRECTED, BOARDS = {"gap", "nakuron", "peg-solitaire", "superpuzz"}, {"sliding"}
TREES = {"magic-star"}
NOT_WHOLE = DIRECTED | TREES


def test_every_puzzle_is_listed_with_all_its_options(hakoiri: Hakoiri) -> None:
    rows = {row["name"]: row for row in hakoiri.ask("puzzles")["puzzles"]}
    assert set(rows) == set(PUZZLES)
    text = " ".join(hakoiri.here("puzzles").stdout.split())
    for name, row in rows.items():
        kind = puzzle_class(name)
        assert row["summary"] == kind.summary
        assert row["summary"] in text
        assert [option["name"] for option in row["options"]] == list(kind.options)
        for option in row["options"]:
            assert f"-o {option['name']}={option['default']} {option['allowed']}" in text
            assert option["allowed"] == kind.options[option["name"]].describe()
        notes = row["notes"]
        assert ("moves cannot be taken back" in notes) == (name in DIRECTED)
        assert ("a tree: its solutions are counted" in notes) == (name in TREES)
        assert ("needs --from BOARD" in notes) == (name in BOARDS)
        assert ("--goal" in notes) == (name != "magic-star")
        assert ("--whole" in notes) == (name not in NOT_WHOLE)
        assert ("census" in row["kinds"]) == (name not in NOT_WHOLE)
        assert ("tree" in row["kinds"], "explore" in row["kinds"]) == (name in TREES, name not in TREES)
        assert ("needs_start" in row["can"], "goal" in row["can"]) == (name in BOARDS, name not in TREES)
        others = {"gap": {"study", "hunt"}, "superpuzz": {"study"}, "nakuron": {"optimise"}}
        others |= {"sliding": {"hunt", "boards", "generate"}}
        for wanted in ("study", "hunt", "optimise", "boards", "generate"):
            assert (wanted in row["kinds"]) == (wanted in others.get(name, set())), (name, wanted)


@pytest.mark.parametrize("name", sorted(PUZZLES))
def test_more_of_one_puzzle(name: str, hakoiri: Hakoiri) -> None:
    row = hakoiri.ask("puzzles", name)
    told = hakoiri.here("puzzles", name).stdout
    assert row["name"] == name
    assert row["description"].split()[0] in told
    assert "`" not in row["description"]
    if name in BOARDS:
        assert (row["layout"], row["start"], row["key"]) == (None, None, None)
    else:
        assert row["start"] in told
        assert hakoiri.ask("show", row["start"], "--puzzle", name)["key"] == row["key"]


def test_what_options_make_of_a_puzzle(hakoiri: Hakoiri) -> None:
    assert hakoiri.ask("puzzles", "hanoi", "-o", "pegs=3", "-o", "discs=2")["start"] == "BA/./."
    assert hakoiri.ask("puzzles", "hanoi", "-o", "discs=20")["layout"] == "u64"
    own = hakoiri.ask("puzzles", f"{ROOT}/examples/lights_out.py:LightsOut", "-o", "n=2")
    assert (own["name"], own["start"], own["notes"]) == (
        "lights_out.py:LightsOut", "**/**", ["--goal", "all configurations are alike"],
    )  # fmt: skip
    bounds = {"values": None, "least": 2, "most": 5}
    assert own["options"] == [{"name": "n", "default": "5", "allowed": "2..5"} | bounds]


def test_version() -> None:
    found = subprocess.run([HAKOIRI, "--version"], capture_output=True, text=True, check=True)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert (found.stdout, found.stderr) == (f"hakoiri {version}\n", "")


# Boards in files


@pytest.mark.parametrize(
    "content",
    [
        "AABC\nAADC\nE.DF\nE.GH\nIIGJ\n",
        "\ufeff; the smallest component\r\n\r\nAABC\r\nAADC  \r\nE.DF\r\n;\r\nE.GH\r\nIIGJ",
        f"\n{START_OF_2}\n",
        "AABC/AADC\nE.DF\nE.GH/IIGJ",
    ],
)
def test_a_board_is_read_from_a_file_everywhere(content: str, hakoiri: Hakoiri, tmp_path: Path) -> None:
    board = tmp_path / "small board.txt"
    board.write_bytes(content.encode())
    assert hakoiri.ask("show", str(board))["configuration"] == START_OF_2
    made = hakoiri.ask("run", "klotski", "--from", str(board))
    assert (made["start"], made["configurations"]) == (START_OF_2, 2)
    assert hakoiri.ask("resume", "last", "--from", str(board))["run"] == made["run"]
    there = hakoiri.ask("path", "last", "--from", str(board), "--to", str(board))
    assert there["configurations"] == [START_OF_2]
    assert hakoiri.ask("distance", "last", str(board), "--from", str(board))["length"] == 0
    queued = hakoiri.ask("enqueue", "klotski", "--from", str(board))["run"]
    assert hakoiri.ask("resume", queued)["configurations"] == 2


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.txt", None, "there is no file {path}"),
        ("empty.txt", b"", "the file {path} holds no board"),
        ("comment", b"; nothing here\n\n", "the file {path} holds no board"),
        ("latin.txt", b"AABC\nAAD\xe9", "the file {path} is not UTF-8 text: byte 9"),
        ("huge.txt", b"A" * 200_000, "the file {path} holds no board"),
        ("wrong.txt", b"AABC\nAADC\nE.DF\nE.GH\nIIG#\n", "row 5 'IIG#': '#' is not a letter or '.'"),
        ("other", None, "there is no file {path}"),
    ],
)
def test_a_bad_file_is_named(name: str, content: bytes | None, said: str, hakoiri: Hakoiri, tmp_path: Path) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    for command in (("run", "klotski", "--from", str(path)), ("show", str(path))):
        refused = hakoiri.here(*command, check=False)
        assert (refused.code, refused.stdout) == (1, "")
        assert said.format(path=path) in refused.error
    assert not hakoiri.data.exists()


def test_a_text_is_no_file_for_looking_like_one(hakoiri: Hakoiri) -> None:
    """A board may end in .txt, be longer than a file's name, or hold what no name can."""
    assert hakoiri.ask("run", "sliding", "--from", "tttt/.txt")["configurations"] > 0
    for text in ("A" * 5000, "A\0B", "~"):
        assert "expected 5 rows" in hakoiri.here("show", text, check=False).error


def test_the_goal_of_a_path_is_never_a_file(hakoiri: Hakoiri, tmp_path: Path) -> None:
    (tmp_path / "goal").write_text(START_OF_2, encoding="utf-8")
    hakoiri.ask("run", "klotski", "--from", START_OF_2)
    assert "found no goal" in hakoiri("path", "last", "--to", "goal", cwd=tmp_path, check=False).error


# Boards of the user


@pytest.mark.ci_slow
def test_a_board_of_ones_own_with_a_goal(hakoiri: Hakoiri, tmp_path: Path) -> None:
    board, goal = tmp_path / "dad.txt", tmp_path / "goal.txt"
    board.write_text("; Dad's puzzle\n" + DAD.replace("/", "\n"), encoding="utf-8")
    goal.write_text("****\n****\n****\nAA**\nAA**\n", encoding="utf-8")
    found = hakoiri.ask("run", "sliding", "--from", str(board), "--goal", "A@4,1")
    assert (found["configurations"], found["depth"]) == (1_398, 112)
    assert found["goal_depth"] is not None
    assert found["parameters"]["goal"] == "****/****/****/AA**/AA**"
    assert "The run shows it as a board" in " ".join(hakoiri.here("run", "--help").stdout.replace("│", " ").split())
    for more in (("--goal", str(goal)), ("-o", "goal=A@4,1"), ("-o", "goal=****/****/****/AA**/AA**")):
        other = hakoiri.ask("run", "sliding", "--from", DAD, *more)
        assert (other["parameters"], other["digest"]) == (found["parameters"], found["digest"])
    assert len(hakoiri.ask("path", "last")["moves"]) == found["goal_depth"]
    assert hakoiri.ask("show", DAD, "--puzzle", "sliding")["configuration"] == DAD


def test_the_readme_lists_every_puzzle_with_its_options() -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Puzzles\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    for name in PUZZLES:
        (row,) = [row for row in rows if f"`{name}`" in row.split("|")[1]]
        assert not [option for option in puzzle_class(name).options if f"`{option}`" not in row]


def test_a_goal_of_the_users_choice_is_part_of_the_run(hakoiri: Hakoiri) -> None:
    found = hakoiri.ask("run", "tiles", "-o", "rows=2", "--goal", "*54/***")
    assert found["parameters"] == {"rows": "2", "columns": "3", "goal": "*54/***"}
    path = hakoiri.ask("path", "last")["configurations"]
    assert [each[1:3] == "54" for each in path] == [False] * found["goal_depth"] + [True]
    assert hakoiri.ask("verify", "last")["ok"]
    assert hakoiri.ask("resume", "last", "-o", "goal=*54/***")["run"] == found["run"]
    other = hakoiri.here("resume", "last", "-o", "goal=*45/***", check=False)
    assert "has goal *54/***, and cannot resume with *45/***" in other.error
    one = hakoiri.ask("run", "tiles", "-o", "rows=2", "-o", f"goal={path[-1]}")
    assert one["goal_depth"] == hakoiri.ask("distance", found["run"], path[-1])["length"] == found["goal_depth"]
    assert one["digest"] == found["digest"]


def test_the_classics_are_listed_and_name_a_start(hakoiri: Hakoiri) -> None:
    rows = {row["name"]: row for row in hakoiri.ask("puzzles", "--classics")["classics"]}
    told = " ".join(hakoiri.here("puzzles", "--classics").stdout.split())
    for name, row in rows.items():
        assert all(word in told for word in (name, str(max(row["moves"].values())), row["title"].split()[0]))
    assert hakoiri.ask("show", "quzzle", "--puzzle", "sliding")["configuration"] == rows["quzzle"]["start"]
    assert hakoiri.ask("run", "hanoi", "--from", "reves-puzzle", "--until-goal")["goal_depth"] == 33
    run = hakoiri.ask("run", "sliding", "--from", "quzzle", "-o", "metric=finger")
    assert (run["goal_depth"], run["start"]) == (rows["quzzle"]["moves"]["finger"], rows["quzzle"]["start"])
