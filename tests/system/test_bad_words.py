"""Words that mean nothing: boards, keys, options. One line names what is wrong, and nothing is left behind."""

from datetime import datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hakoiri.cli import app
from hakoiri.errors import counted
from hakoiri.storage.ledger.manifest import State
from tests.support.commands import ROOT, FinishedRuns, Hakoiri
from tests.support.user_puzzles import FAULT, FAULTY, ROW, changed, written

START = "ABBC/ABBC/DEEF/DGHF/I..J"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected 5 rows"),
        ("ABBC/ABBC/DEEF/DGHF", "expected 5 rows joined by '/'; 'ABBC/ABBC/DEEF/DGHF' has 4"),
        ("ABBC/ABB/DEEF/DGHF/I..J", "row 2 'ABB' has 3 cells, expected 4"),
        ("ABBC/ABBC/DEEF/DG*F/I..J", "row 4 'DG*F': '*' is not a letter or '.'"),
        ("ABBC/ABBC/DEEF/DGHF/I.\x1b[31m.J", "row 5"),
        ("ABBC/ABBC/DE\nF/DGHF/I..J", "'ABBC/ABBC/DE/F/DGHF/I..J' has 6"),
        ("ABBC/ABBC/DEEF/DGHF/A..J", "piece A is not a rectangle: its cells are row 1 column 1"),
        ("ABBC/ABBC/ADEF/GDHF/GI.J", "piece A is 3x1"),
        ("ABBC/ABBC/DEEF/DGHF/I...", "expected 4 1x1 pieces, found 3 (G, H, I)"),
        ("ABBC/ABBC/DEEF/DEEF/I..J", "expected 1 2x2 pieces, found 2 (B, E)"),
        ("..../..../..../..../....", "expected 1 2x2 pieces, found 0"),
        ("0xgg", "0x must be followed by hexadecimal digits"),
        ("0x", "0x must be followed by hexadecimal digits"),
        ("0x1ffffffff", "more than 32 bits"),
        ("0xf7038bbb", "the 2x2 piece is at place 15 of 12"),
        ("0x17083bbb", "not in increasing order: [0, 8, 3, 11]"),
        ("0x17038bff", "the blanks are pair 255 of 190"),
        ("0x11038bbb", "the 2x2 piece and the horizontal 1x2 piece both cover row 1 column 2"),
        ("0x17038b00", "both cover row 1 column 1"),
    ],
)
def test_a_bad_configuration_is_refused_by_row_or_piece(text: str, said: str, hakoiri: Hakoiri) -> None:
    for command in (("show", text), ("run", "klotski", "--from", text), ("enqueue", "klotski", "--from", text)):
        refused = hakoiri.here(*command, check=False)
        assert (refused.code, refused.stdout) == (1, "")
        assert said in refused.error
        assert refused.stderr == f"{refused.error}\n", "more than one line"
        assert refused.error.isprintable()
    assert not hakoiri.data.exists()


def test_a_directory_is_no_board(hakoiri: Hakoiri, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "1." / "23").mkdir(parents=True)
    for line in (("run", "klotski", "--from", str(tmp_path)), ("show", "1.")):
        assert "is a directory; expected a file" in hakoiri.here(*line, check=False).error
    board = ("show", "1./23", "--puzzle", "tiles", "-o", "rows=2", "-o", "columns=2")
    assert hakoiri.ask(*board)["configuration"] == "1./23"


@pytest.mark.parametrize("question", [("path", "last", "--to"), ("path", "last", "--from"), ("distance", "last")])
def test_a_bad_configuration_is_refused_by_every_question(question: tuple[str, ...], finished: FinishedRuns) -> None:
    refused = finished.hakoiri.here(*question, "ABBC/ABB/DEEF/DGHF/I..J", check=False)
    assert (refused.code, refused.stdout) == (1, "")
    assert "row 2" in refused.error


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("run sokoban", 1, "known puzzles: burnt-pancakes, cube2, gap, hanoi, klotski, "),
        ("run sokoban", 1, "write a puzzle of your own as FILE.py:NAME"),
        ("run sokoban.py:Sokoban", 1, "there is no file sokoban.py"),
        ("run sokoban.py", 1, "there is no file sokoban.py"),
        ("run klotski -o metric=diagonal", 1, "klotski option metric=diagonal: expected unit|straight|finger"),
        ("run hanoi -o discs=0", 1, "hanoi option discs=0: expected a whole number in 1..20"),
        ("run hanoi -o discs=three", 1, "hanoi option discs=three: expected a whole number in 1..20"),
        ("run klotski -o colour=red", 1, "its options: metric"),
        ("run klotski -o metric", 1, "NAME=VALUE"),
        ("run klotski --whole --until-goal", 1, "leave out"),
        ("run peg-solitaire --whole", 1, "peg-solitaire cannot list its whole space; leave out --whole"),
        ("run sliding --whole", 1, "needs a board; set --from BOARD"),
        ("run sliding", 1, "--from"),
        ("run klotski --goal A@1,1", 1, "klotski option goal=A@1,1: expected 5 rows joined by '/'"),
        ("run sliding --from AA/.. --goal A@2,1 -o goal=A@1,1", 1, "cannot be combined"),
        ("run sliding --from AA/.. --goal B@2,1", 1, "no piece B"),
        ("run klotski --from board.txt", 1, "there is no file board.txt"),
        ("puzzles sokoban", 1, "known puzzles"),
        ("puzzles klotski -o colour=red", 1, "its options: metric"),
        (f"run klotski --whole --from {START}", 1, "leave out"),
        ("show 0x17038bbb --puzzle sokoban", 1, "known puzzles"),
        ("status last", 1, "there are no runs"),
        ("run klotski --memory lots", 2, "is not a size; expected"),
        ("run klotski --memory 0", 2, "is not a size; expected"),
        ("run klotski --chunk 0", 2, "--chunk"),
        ("run klotski --workers 0", 2, "--workers"),
        ("run klotski --workers 99999999", 1, "workers 99999999 is not in 1..1024"),
        ("run klotski --memory 9000000TB", 1, "memory 9895604649984000000 is not in 1..9223372036854775807"),
        (f"run klotski --memory {'9' * 400}", 2, "is not a size; expected"),
        ("run klotski --chunk 9223372036854775808", 1, "chunk 9223372036854775808 is not in 1..9223372036854775807"),
        ("enqueue klotski --farm 1" + "0" * 30, 1, "farm 1" + "0" * 30 + " is not in 0.."),
        ("run klotski --farm sometimes", 2, "'sometimes' is not auto, always, never or"),
        ("run klotski --farm -1", 2, "--farm"),
        ("run klotski --by layers", 1, "--by needs --whole"),
        ("run klotski --whole --by paths", 1, "by 'paths' is not joins or layers"),
        ("run superpuzz --whole --by layers", 1, "superpuzz is directed: a search does not find its components"),
        ("run klotski --deadline nan", 1, "nan is not a number of seconds"),
        ("run klotski --deadline inf", 1, "inf is not a number of seconds"),
        ("hunt gap --legs 1 --certificate nowhere/x.json", 1, "nowhere/x.json: its directory does not exist; choose"),
        ("study deals gap --sizes 3 --deals 1 --csv .", 1, "cannot write .: it is a directory"),
        ("map last --to nowhere/x.hakomap", 1, "cannot write nowhere/x.hakomap: its directory does not exist"),
        ("hardest last --plot nowhere/x.png", 1, "cannot write nowhere/x.png: its directory does not exist"),
        ("layers last --limit 3", 2, "--limit needs --depth"),
        ("layers last --depth 3 --plot x.png", 2, "--plot and --depth cannot be combined"),
        ("path last --limit 3", 2, "--limit needs --all"),
        ("deal gap --count 99999999999", 2, "--count"),
        ("run klotski --depth 4", 2, "--depth"),
        ("run", 2, "PUZZLE"),
        ("worker", 2, "HAKOIRI_REDIS"),
        ("worker -n 0", 2, "-n 0: the number of processes must be"),
        ("worker -n many", 2, "-n many: the number of processes must be"),
        ("worker -n 99999999", 2, "-n 99999999: the number of"),
        ("worker -n 1 --data-redis auto --data-memory 1MB", 2, "1MB is below the minimum of 16MB"),
        ("solve klotski", 2, "solve"),
    ],
)
def test_bad_words_leave_nothing_behind(line: str, code: int, said: str, hakoiri: Hakoiri) -> None:
    refused = hakoiri.here(*line.split(), check=False)
    assert (refused.code, refused.stdout) == (code, "")
    assert said in refused.stderr
    assert code == 2 or said in refused.error
    assert not hakoiri.data.exists()


# Mistakes in user puzzles: each is reported in one line, with the configuration and the line of the file


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
        (changed(("return 0x800", "return -1")), "usual_start returned -0x1, which is out of range; layout u32 holds"),
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
        (changed(("        found = []\n", "        found = [][key != 0x800]\n")), None),
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


# One thing has one name, a unit where it has one, and its singular; what is mistyped is guessed


SOLVED = "AABC/AADE/.FGH/IJJK/.BCK"


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("number", "things", "said"),
    [
        (1, "moves", "1 move"),
        (0, "moves", "0 moves"),
        (2_220, "layers checked", "2,220 layers checked"),
        (1, "layers checked", "1 layer checked"),
        (1, "moves of the best play", "1 move of the best play"),
    ],
)
def test_numbers_are_counted_in_english(number: int, things: str, said: str) -> None:
    assert counted(number, things) == said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("run kloski", "(did you mean klotski?)"),
        ("run klotski -o metrik=unit", "(did you mean metric?)"),
        ("run klotski -o metric=finga", "(did you mean finger?)"),
        ("run klotski -o metric=unit -o metric=finger", "option metric= is given twice, as unit and finger"),
        ("run sokoban", "there is no puzzle 'sokoban'; known puzzles"),
    ],
)
def test_what_is_mistyped_is_guessed(line: str, said: str, hakoiri: Hakoiri) -> None:
    assert said in hakoiri.here(*line.split(), check=False).error
    assert not hakoiri.data.exists()


def test_commands_and_options_are_guessed() -> None:
    assert "'runs'" in CliRunner().invoke(app, ["rusn"]).output
    assert "--memory" in CliRunner().invoke(app, ["run", "klotski", "--memry", "1GB"]).output


def test_runs_and_status_say_the_same(finished: FinishedRuns) -> None:
    explored = finished.explored["run"]
    again = flat(finished.hakoiri.here("resume", explored).stdout)
    status = flat(finished.hakoiri.here("status", explored).stdout)
    for label in ("nearest goal 116 moves", "configurations 25,955", "depth 167", "computing "):
        assert label in again, again
        assert label in status, status
    counted_run = finished.counted["run"]
    for label in ("moves between them 103,390", "components 898", "start in component 1"):
        assert label in flat(finished.hakoiri.here("resume", counted_run).stdout)
        assert label in flat(finished.hakoiri.here("status", counted_run).stdout)
    told = finished.hakoiri.ask("status", explored)
    assert f"rate {told['rate']:,} configurations/s" in status
    assert told["rate_unit"] == "configurations/s"
    assert datetime.fromisoformat(told["created"]).tzinfo is not None
    assert "created" in finished.hakoiri.here("runs").stdout.splitlines()[0].split()


def test_positions_and_moves_tried_are_no_configurations(hakoiri: Hakoiri) -> None:
    board = str(ROOT / "examples" / "nakuron.txt")
    for line, name in (
        ("hunt gap -o ranks=3 --legs 1", "positions"),
        ("study deals gap --sizes 3 --deals 2", "positions"),
        (f"optimise nakuron --from {board} --rounds 1", "moves_tried"),
    ):
        made = hakoiri.here(*line.split()).stdout
        run = made.split()[1]
        for label in ("deals tried", "positions generated", "moves tried"):
            assert (f"\n{label} " in made) == (f"\n{label} " in hakoiri.here("status", run).stdout) or "study" in line
        told = hakoiri.ask("status", run)
        assert (told["configurations"], told[name] > 0) == (None, True)
        text = hakoiri.here("status", run).stdout
        assert f"{name.replace('_', ' ')} " in text
        assert "configurations" not in text
    assert told["start"] is None, "its board is its start"
    assert "start" not in [row.split()[0] for row in text.splitlines() if row[:1].strip()]


@pytest.mark.parametrize(
    ("line", "has"),
    [
        ("hunt gap -o ranks=3 --legs 1", "of the kind hunt: it has legs and records and no layers"),
        ("study deals gap --sizes 3 --deals 1", "of the kind study: it has deals and no layers"),
        ("enqueue klotski", "has no layers yet"),
    ],
)
def test_a_run_without_layers_says_what_it_has(line: str, has: str, hakoiri: Hakoiri) -> None:
    hakoiri.here(*line.split())
    refused = hakoiri.here("layers", "last", check=False)
    assert (refused.code, refused.stdout) == (1, "")
    assert has in refused.error


def test_where_the_start_is_the_goal_no_way_there_is_offered(hakoiri: Hakoiri, finished: FinishedRuns) -> None:
    goal = finished.hakoiri.ask("path", finished.explored["run"])["configurations"][-1]
    assert "now ask: hakoiri path last --to farthest, " in hakoiri.here("run", "klotski", "--from", goal).stdout
    assert "now ask: hakoiri path last, " in hakoiri.here("run", "klotski").stdout


def test_the_diameter_of_a_whole_space_is_that_around_the_usual_start(finished: FinishedRuns) -> None:
    hakoiri, counted_run = finished.hakoiri, finished.counted["run"]
    holds = hakoiri.ask("component-of", counted_run, finished.explored["start"])["component"]
    assert holds == finished.counted["start_component"] == 1, "component 0 is the one upside down"
    assert f"start in component {holds}" in flat(hakoiri.here("resume", counted_run).stdout)
    found = hakoiri.ask("diameter", counted_run)
    assert (found["component"], found["diameter"]) == (holds, 190)
    assert f"component {holds}, with the usual start" in flat(hakoiri.here("diameter", counted_run).stdout)
    other = flat(hakoiri.here("diameter", counted_run, "--component", "0").stdout)
    assert "component 0 size" in other


def test_figures_of_earlier_runs_are_read_by_their_new_names() -> None:
    from hakoiri.coordinator.plays.optimise import OptimiseFigures
    from hakoiri.coordinator.studies.hunt import HuntFigures

    earlier = State(figures={"configurations": 7, "rounds": 1, "legs": 2})
    assert OptimiseFigures.of(earlier) == OptimiseFigures(moves_tried=7, rounds=1)
    assert HuntFigures.of(earlier) == HuntFigures(positions=7, legs=2)
