"""Mistakes in user puzzles: each is reported in one line, with the configuration and the line of the file."""

from pathlib import Path

import pytest

from tests.support.commands import Hakoiri
from tests.support.user_puzzles import FAULT, FAULTY, ROW, changed, written


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no file "),
        ("", "jugs.py has no class Jugs; it has no puzzle"),
        (changed(("class Jugs", "class Jars")), "jugs.py has no class Jugs; it has Jars"),
        (changed(("(Puzzle)", "")), "Jugs of jugs.py is not a puzzle; expected 'class Jugs(Puzzle)'"),
        ("Jugs = 3", "jugs.py has no class Jugs"),
        ("from hakoiri.puzzles.sliding_blocks.klotski import Klotski as Jugs", "jugs.py has no class Jugs"),
        ("class Jugs:\n  def f(self)\n", "jugs.py: line 2, SyntaxError: expected ':'"),
        ("\n\nclass Jugs(Puzzle): pass", "jugs.py: line 3, NameError: name 'Puzzle' is not defined"),
        ("import nothing_like_this", "jugs.py: line 1, ModuleNotFoundError: No module named 'nothing_like_this'"),
        ("x = 1\nraise SystemExit(3)", "jugs.py: line 2, SystemExit: 3"),
        ("x = '\0'", "source code string cannot contain null bytes"),
        (changed(("def successors", "def neighbours")), "Jugs of jugs.py does not define: successors"),
        (
            changed(("def successors", "def neighbours"), ("def usual_start", "def begin")),
            "does not define: successors, usual_start",
        ),
        (changed(('    name = "jugs"\n', "")), "Jugs of jugs.py does not define: name"),
        (changed(('name = "jugs"', 'name = "a/b"')), "name 'a/b' is not allowed; use up to 40 lower-case letters"),
        (changed(("    layout = U32\n", "")), "jugs of jugs.py does not define: layout"),
        (
            changed(("    undirected = False\n", ""), ("    most_successors = 6\n", "")),
            "jugs of jugs.py does not define: undirected, most_successors",
        ),
        (changed(("layout = U32", "layout = int")), "layout is <class 'int'> (type); expected U32, U64"),
        (changed(("most_successors = 6", "most_successors = '6'")), "most_successors is '6'; expected a whole number"),
        (changed(("return 0x800", "pass")), "usual_start returned None (NoneType); expected a whole number"),
        (
            changed(("return 0x800", "return -1")),
            "usual_start returned -0x1, which is out of range; layout u32 holds",
        ),
        (
            changed(("return 0x800", "return 1 // 0")),
            "usual_start failed: line 15, ZeroDivisionError: integer division",
        ),
        (changed(("return 0x800", "return 0x80000")), "not a configuration of jugs: its text '0/0/0' means 0x0"),
    ],
)
def test_a_mistake_is_told_before_a_run_is_made(text: str | None, said: str, tmp_path: Path, hakoiri: Hakoiri) -> None:
    word = f"{tmp_path}/jugs.py:Jugs" if text is None else written(tmp_path, text)
    for command in ("run", "enqueue", "puzzles", "show 0x800 --puzzle"):
        refused = hakoiri.here(*command.split(), word, check=False)
        assert (refused.code, refused.stdout) == (1, "")
        assert said in refused.error
        assert refused.stderr.count("\n") == 1
    assert not hakoiri.data.exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            changed(("        found = []\n", "        found = [][key != 0x800]\n")),
            None,
        ),
        (
            changed(("        found = []\n", "        found = [] if key != 0x323 else [][0]\n")),
            "successors of 3/2/3 (0x323) failed: line 18, IndexError: list index out of range",
        ),
        (
            changed(("        return found\n", "        return found if key != 0x323 else [1 << 32]\n")),
            "one of the successors of 3/2/3 (0x323) is 0x100000000, which is out of range; layout u32 holds "
            "0 to 0xffffffff",
        ),
        (
            changed(("        return found\n", "        return found if key != 0x323 else [-5]\n")),
            "one of the successors of 3/2/3 (0x323) is -0x5, which is out of range",
        ),
        (
            changed(("        return found\n", "        return found if key != 0x323 else [0.5]\n")),
            "one of the successors of 3/2/3 (0x323) is 0.5 (float); expected a whole number",
        ),
        (
            changed(
                ("most_successors = 6", "most_successors = 2"), ("return found", "return found * (1 + (key < 999))")
            ),
            "successors, more than most_successors, 2",
        ),
        (
            changed(("        return found\n", "        return found if key != 0x323 else [0x1000000]\n")),
            "a move from 3/2/3 (0x323) leads to 0x1000000, which is not a configuration",
        ),
        (changed(("undirected = False", "undirected = True")), "which does not lead back; set undirected = False"),
        (changed(("keys == 0x440", "[key == 0x440 for key in keys]")), "(list); expected bool of shape (1,)"),
        (
            changed(("keys == 0x440", "keys == keys.missing")),
            "is_goal of 8/0/0 (0x800) failed: line 30, AttributeError",
        ),
    ],
)
def test_a_mistake_is_told_with_the_configuration(
    text: str, said: str | None, tmp_path: Path, hakoiri: Hakoiri
) -> None:
    """Whatever goes wrong in the rules while they are searched: one line, the run has failed, nothing to resume."""
    refused = hakoiri.here("run", written(tmp_path, text), check=False)
    assert (refused.code, refused.stdout) == (1, "")
    if said is None:  # A mistake of the start is told before anything is made.
        assert "successors of 8/0/0 (0x800) failed: line 18, " in refused.error
        assert not hakoiri.data.exists()
        return
    assert said in refused.error
    assert "resume" not in refused.error
    assert hakoiri.ask("status", "last")["status"] == "failed"
    assert said in hakoiri.ask("status", "last")["reason"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "room[:total], counts)",
            "room[:total].astype(np.uint64), counts)",
            "returned successors as uint64 of shape (2,)",
        ),
        ("room[:total], counts)", "room[:total].tolist(), counts)", "returned successors as [99, 101] (list)"),
        ("room[:total], counts)", "room, counts - 1)", "returned 2 successors and 1 counts whose sum is 1"),
        (
            "room[:total], counts)",
            "room[:total], counts / 2)",
            "returned counts as float64 of shape (1,), expected uint16",
        ),
        ("return Expansion(room[:total], counts)", "return room", "expected Expansion(successors, counts)"),
        ("most_successors = 2", "most_successors = 1", "0x64 has 2 successors, more than most_successors, 1"),
        ("key < 199", "key < 100", "successors of 0x64 returns 0x65, expand does not; the two must agree"),
        ("key - 1\n", "key - 2\n", "expand of 0x64 returns 0x62, successors does not"),
        ("total = 0\n", "total = unknown\n", "expand of 0x64 failed: line 22, TypingError: Failed in nopython mode"),
        ("total = 0\n", "total = [1][keys[0]]\n", "expand of 0x64 failed: line 22, IndexError"),
    ],
)
def test_a_mistake_in_a_kernel_is_told_before_a_run_is_made(
    old: str, new: str, said: str, tmp_path: Path, hakoiri: Hakoiri
) -> None:
    word = written(tmp_path, changed((old, new), text=ROW), "Row")
    refused = hakoiri.here("run", word, check=False)
    assert (refused.code, refused.stdout) == (1, "")
    assert said in refused.error
    assert refused.stderr.count("\n") == 1
    assert not hakoiri.data.exists()


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ("yield np.arange(200)", "configurations returned int64 of shape (200,); expected layout u32"),
        ("yield np.arange(199, -1, -1).astype(np.uint32)", "does not list its configurations in increasing order"),
        ("yield np.arange(198, dtype=np.uint32)", "leads to 0xc6, which is not among the 198 configurations"),
        ("yield np.arange(200, dtype=np.uint32)[missing:]", "configurations failed: line 26, NameError"),
    ],
)
def test_a_mistake_in_the_list_of_configurations(new: str, said: str, tmp_path: Path, hakoiri: Hakoiri) -> None:
    text = changed(("yield np.arange(200, dtype=np.uint32)", new), text=ROW)
    refused = hakoiri.here("run", written(tmp_path, text, "Row"), "--whole", check=False)
    assert said in refused.error
    assert hakoiri.ask("status", "last")["status"] == "failed"


@pytest.mark.parametrize(
    ("greedy", "said"), [("np.empty(1 << 56)", "Unable to allocate"), ("bytearray(1 << 60)", "MemoryError")]
)
def test_too_little_memory_is_one_line(greedy: str, said: str, tmp_path: Path, hakoiri: Hakoiri) -> None:
    text = changed(("        room, counts", f"        130 in keys and {greedy}\n        room, counts"), text=ROW)
    refused = hakoiri.here("run", written(tmp_path, text, "Row"), check=False)
    assert (refused.code, refused.stdout) == (1, "")
    assert f"not enough memory: {said}" in refused.error
    assert "--memory" in refused.error
    status = hakoiri.ask("status", "last")
    assert (status["status"], said in status["reason"]) == ("interrupted", True)


@pytest.mark.parametrize("farmed", [(), ("--farm", "0")])
def test_a_kernel_that_fails_names_the_configuration(farmed: tuple[str, ...], tmp_path: Path, hakoiri: Hakoiri) -> None:
    refused = hakoiri.here("run", written(tmp_path, FAULTY, "Row"), *farmed, check=False)
    assert FAULT in refused.error
    status = hakoiri.ask("status", "last")
    assert status["status"] == "failed"
    assert 0 < status["depth"] <= 30


def test_verify_says_that_a_puzzle_is_wrong_and_advises_nothing_that_cannot_help(
    tmp_path: Path, hakoiri: Hakoiri
) -> None:
    """A kernel that is wrong about one configuration, which no sample of the run meets."""
    slip = changed(
        ("if key < 199:", "if key < 199 and key != 7:"), ("if key > 0:", "if key > 0 and key != 8:"), text=ROW
    )
    assert hakoiri.here("run", written(tmp_path, slip, "Row"), check=False).code == 0
    found = hakoiri.here("verify", "last", "--full", check=False)
    assert found.code == 1
    assert "row: successors of 0x8 returns 0x7, expand does not; the two must agree" in found.stdout
    assert "the puzzle is wrong, not the file, so no repair helps" in found.stderr
    assert "--repair" not in found.stderr
    assert hakoiri.here("verify", "last", "--full", "--json", check=False).json["cause"] == "puzzle"
    assert "no layer is damaged; nothing to repair" in hakoiri.here("resume", "last", "--repair").stderr
