"""The command line as a user has it: every command, its help, its JSON, how runs and configurations are named."""

import json
import os
import re
import shlex
import signal
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from hakoiri.api import Run
from hakoiri.cli import app
from hakoiri.cli.app import Command
from hakoiri.cli.listed import LINES
from hakoiri.coordinator.runs.kinds import KINDS, kind_class
from hakoiri.questions.question import COMMANDS as QUESTIONS_ASKED
from hakoiri.questions.question import question_class
from hakoiri.storage.ledger.lock import serving
from hakoiri.worker.machine import cores_for_workers
from tests.support.commands import (
    HAKOIRI,
    ROOT,
    START_OF_2,
    START_OF_201,
    START_OF_248,
    Finished,
    FinishedRuns,
    Hakoiri,
    clean_environment,
    wait_until,
)
from tests.support.process_setup import leave_memory
from tests.support.published import HAKOIRI as KNOWN
from tests.support.seeds import usual
from tests.support.servers import Workers

START = KNOWN["start"]
START_KEY = "0x17038bbb"
NEAR = "ABBC/ABBC/DEEF/DGHF/.IJ."
#: Every command by its words; those of a group by two, such as ``study deals``.
COMMANDS = {
    " ".join(filter(None, (name, part))): command
    for name, found in typer.main.get_command(app).commands.items()  # type: ignore[attr-defined]
    for part, command in (getattr(found, "commands", None) or {"": found}).items()
}
COMMANDS_JSON = json.loads(Path(__file__).with_name("commands.json").read_text(encoding="utf-8"))
#: What each command's JSON holds at least; ``list:keys`` for the entries of a list.
DOCUMENTED: dict[str, str] = COMMANDS_JSON["documented"]
#: A line, and the status that it tells if any. `{queued}` is a queued run, of one configuration.
ASKED: dict[str, str | None] = COMMANDS_JSON["asked"]
#: Answers over HTTP (tests/hakoiri/web), and prints nothing but its address.
SERVE = "serve"


def command_of(line: str) -> str:
    """The words of a line that name its command."""
    return next(name for name in COMMANDS if f"{line} ".startswith(f"{name} "))


#: Questions and kinds of run of which there is no line: their examples are asked.
_DECLARED: list[type[Any]] = [*map(question_class, QUESTIONS_ASKED), *map(kind_class, KINDS)]
_EXAMPLES = {command_of(each.example): each.example for each in _DECLARED if each.example}
ASKED |= {line: None for name, line in _EXAMPLES.items() if name not in {*map(command_of, ASKED)}}


def test_the_commands_are_the_documented_ones() -> None:
    assert set(COMMANDS) == {*DOCUMENTED, SERVE}
    folders = [ROOT / "hakoiri" / name for name in ("cli", "guests")]
    sources = [path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py")]
    made = [source.count("@command_line(") for source in sources]
    started = [name for name in KINDS if kind_class(name).example]
    assert sum(made) + len(QUESTIONS_ASKED) + len(started) == len(COMMANDS), (
        "a command that a module has and the command line does not know"
    )


def test_the_list_of_commands_has_the_first_lines_of_their_help() -> None:
    commands = typer.main.get_command(app).commands.items()  # type: ignore[attr-defined]
    first = {name: command.help.split("\n\n")[0] for name, command in commands}
    assert first == LINES
    flat = " ".join(CliRunner().invoke(app, ["--help"], env={"COLUMNS": "150"}).stdout.split())
    assert all(f"{name} {line}" in flat for name, line in first.items())


@pytest.mark.parametrize("command", sorted([*DOCUMENTED, SERVE]))
def test_every_command_has_help_and_an_example_that_parses(command: str) -> None:
    helped = CliRunner().invoke(app, [*command.split(), "--help"], prog_name="hakoiri")
    assert helped.exit_code == 0
    flat = " ".join(helped.stdout.split())
    assert f"Usage: hakoiri {command}" in flat
    example = re.search(r"Example: (hakoiri .*)", flat)
    assert example, flat
    words = shlex.split(example[1])
    named = ["hakoiri", *command.split()]
    assert words[: len(named)] == named
    COMMANDS[command].make_context(command, words[len(named) :])


def test_no_help_cuts_words_on_a_narrow_terminal() -> None:
    for command in ["", *DOCUMENTED]:
        lines = CliRunner().invoke(app, [*command.split(), "--help"], env={"COLUMNS": "40"}).stdout.splitlines()
        assert lines and "…" not in "".join(lines) and max(map(len, lines)) <= 40, command


@pytest.mark.parametrize("command", sorted(DOCUMENTED))
def test_every_command_has_json(command: str) -> None:
    assert "--json" in [option for parameter in COMMANDS[command].params for option in parameter.opts]


def assert_documented(told: Finished, command: str, status: str | None = None) -> None:
    """All that is documented is in the JSON, and nothing of it on stderr."""
    found = told.json
    for field in DOCUMENTED[command].split():
        name, _, inner = field.partition(":")
        assert name in found, told
        for key in inner.split(",") if inner else ():
            assert found[name], told
            assert all(key in entry for entry in found[name]), (key, told)
    assert status in (None, found.get("status"))
    assert "{" not in told.stderr


def test_the_json_of_every_command_is_documented_and_asked_for() -> None:
    assert all(DOCUMENTED.values())
    assert {command_of(line) for line in ASKED} | {"collect", "drain", "worker", "play", "restore"} == set(DOCUMENTED)


@usual(2, ("line", "status"), ASKED.items())
def test_json_is_one_object_with_the_documented_fields(
    line: str, status: str | None, finished: FinishedRuns, hakoiri: Hakoiri, farm: Workers, tmp_path: Path
) -> None:
    finished.copy(finished.counted, hakoiri.data)
    words: dict[str, Any] = {"small": START_OF_2, "near": NEAR, "directory": tmp_path, "root": ROOT, "redis": farm.url}
    if "{queued}" in line or line.startswith("coordinator"):
        words["queued"] = hakoiri.ask("enqueue", "klotski", "--from", START_OF_2)["run"]
    if "{little}" in line:
        words["little"] = hakoiri.ask("run", "klotski", "--from", START_OF_2)["run"]
    if "{shelf}" in line:
        words["shelf"] = hakoiri.ask("archive", "last", "--to", str(tmp_path / "shelf"))["where"]
    if "{star}" in line:
        words["star"] = hakoiri.ask("run", "magic-star", "-o", "solutions=keep")["run"]
    (tmp_path / "deals").write_text("H2 HA D3/D2 DA S3/S2 SA C3/C2 CA H3\n", encoding="utf-8")
    with serving(hakoiri.data):
        told = hakoiri.here(*line.format(**words).split(), "--json")
    assert_documented(told, command_of(line), status)


def test_json_of_workers(farm: Workers, hakoiri: Hakoiri) -> None:
    supervisor = hakoiri.start("worker", "-n", "auto", "--redis", farm.url, "--json")
    cores = cores_for_workers()
    supervisor.wait_for(f"each on one of the cores {', '.join(map(str, cores))}, supervised by")
    # A worker is seen a moment before it is pinned: its supervisor forks it, then pins it.
    wait_until(lambda: [child.cpu_affinity() for child in supervisor.children()] == [[c] for c in cores], what="pins")
    supervisor.send(signal.SIGTERM)
    assert_documented(supervisor.finish(), "worker")


@pytest.mark.parametrize(("free", "is_little"), [(700_000_000, True), (10**12, False)])
def test_a_host_with_too_little_memory_for_its_workers_says_so(
    free: int, is_little: bool, farm: Workers, hakoiri: Hakoiri
) -> None:
    supervisor = hakoiri.start("worker", "-n", "2", "--redis", farm.url, before=partial(leave_memory, free))
    wait_until(supervisor.children, what="a worker")
    supervisor.send(signal.SIGTERM)
    said = supervisor.finish().stderr
    assert ("too little memory for large runs, 350 of 400 MB for each worker" in said) == is_little, said


def test_json_of_cancel_and_of_the_queue(hakoiri: Hakoiri) -> None:
    queued = hakoiri.ask("enqueue", "klotski", "--chunk", "7")
    assert hakoiri.ask("status", "last")["status"] == "queued"
    assert hakoiri.ask("cancel", "last") == {"run": queued["run"], "status": "cancelled"}
    assert [(row["run"], row["status"]) for row in hakoiri.ask("runs")["runs"]] == [(queued["run"], "cancelled")]
    assert hakoiri.here("coordinator", check=False).code == 2, "no Redis was named"


def test_cancel_refuses_a_finished_run(finished: FinishedRuns) -> None:
    refused = finished.hakoiri.here("cancel", finished.explored["run"], check=False)
    assert (refused.code, refused.stdout) == (1, "")
    assert "complete already" in refused.error


# The figures of puzzles.md section 1


@usual(
    7,
    ("arguments", "expected"),
    [
        ("", {"configurations": KNOWN["reachable"], "depth": 167, "goal_depth": 116, "kind": "explore"}),
        ("--until-goal", {"depth": 116, "goal_depth": 116, "status": "complete", "exhausted": False}),
        ("-o metric=straight", {"goal_depth": KNOWN["solution by metric"]["straight"], "configurations": 25_955}),
        ("-o metric=finger", {"goal_depth": KNOWN["solution by metric"]["finger"], "configurations": 25_955}),
        (f"--from {START_OF_248}", {"configurations": 248, "goal_depth": None}),
        ("--from 0x17038BBB", {"configurations": 25_955, "start": START}),
        ("--memory 1MB --workers 1 --chunk 1000", {"configurations": 25_955}),
        ("--merge-mirrors", {"configurations": 13_011, "largest_window": 1_110, "largest_window_at": 57}),
        ("--whole", {"configurations": 65_880, "components": 898, "edges": 103_390, "kind": "census", "depth": None}),
        ("--whole --merge-mirrors", {"configurations": 33_030, "components": 459}),
    ],
)
def test_run_finds_the_known_figures(
    arguments: str, expected: dict[str, Any], hakoiri: Hakoiri, finished: FinishedRuns
) -> None:
    found = hakoiri.ask("run", "klotski", *arguments.split())
    assert {name: found[name] for name in expected} == expected
    assert found["status"] == "complete"
    assert sum(found["layers"]) == found["configurations"]
    if found["parameters"] == {"metric": "unit"} and found["start"] == START and not found["merge_mirrors"]:
        assert found["layers"] == finished.explored["layers"][: len(found["layers"])]
    if arguments == "--merge-mirrors":
        assert (sum(found["layers"][:117]), sum(found["layers"][:118])) == (12_055, 12_092)


@pytest.mark.ci_slow
def test_diameter_of_an_exploration_is_that_of_its_component(finished: FinishedRuns) -> None:
    found = finished.hakoiri.ask("diameter", finished.explored["run"])
    pairs, centre, periphery = KNOWN["largest components: pairs, centre, periphery"]
    assert (found["size"], found["diameter"], found["radius"]) == (25_955, 190, 114)
    assert (found["pair_count"], found["centre"], found["periphery"]) == (pairs, centre, periphery)


@pytest.mark.ci_slow
def test_every_eccentricity_and_all_pairs(finished: FinishedRuns, tmp_path: Path) -> None:
    hakoiri, run, target = finished.hakoiri, str(finished.explored["run"]), tmp_path / "pairs.csv"
    plain, found = hakoiri.ask("diameter", run), hakoiri.ask("diameter", run, "--all", "--pairs", str(target))
    assert plain["eccentricities"] is None
    counts = {int(value): count for value, count in found["eccentricities"].items()}
    assert found | {"eccentricities": None} == plain
    assert (min(counts), max(counts), sum(counts.values())) == (114, 190, 25_955)
    assert target.read_text().splitlines() == ["one,other", *(f"{one},{other}" for one, other in found["pairs"])]
    refused = hakoiri.here("diameter", run, "--pairs", str(target), check=False)
    assert refused.code == 2
    assert "--pairs needs --all" in refused.stderr


@pytest.mark.slow
def test_centre_and_periphery_are_written_in_full(finished: FinishedRuns, usual_run: Run, tmp_path: Path) -> None:
    hakoiri, run = finished.hakoiri, str(finished.explored["run"])
    files = [tmp_path / "centre.csv", tmp_path / "periphery.csv"]
    shown = hakoiri.here("diameter", run, "--all", "--centre", str(files[0]), "--periphery", str(files[1])).stdout
    centre, periphery = (file.read_text().splitlines()[1:] for file in files)
    assert (len(centre), len(periphery)) == (20, 6)
    assert {usual_run.distance("farthest", one) for one in centre} == {114}
    assert {usual_run.distance("farthest", one) for one in periphery} == {190}
    ends = usual_run.diameter().pairs.flatten().tolist()
    assert {usual_run.puzzle.render(key) for key in ends} == {*periphery}
    assert [word in shown for word in ("pair 3 ", "pair 4 ", "and 1 pair more: --limit N")] == [True, False, True]
    assert "more" not in hakoiri.here("diameter", run, "--limit", "4").stdout
    keys, apart = usual_run.eccentricities()
    assert [apart.min(), apart.max(), len(keys)] == [114, 190, 25_955]


@pytest.mark.ci_slow
def test_queued_eccentricities_are_found_where_they_are_asked_for(hakoiri: Hakoiri) -> None:
    run = hakoiri.ask("run", "klotski", "--from", START_OF_248)["run"]
    here = hakoiri.ask("diameter", run, "--all")
    queued = hakoiri.ask("diameter", run, "--all", "--queue")["run"]
    assert hakoiri.ask("status", queued)["status"] == "queued"
    assert hakoiri.ask("resume", queued)["settled"] == 248
    state = hakoiri.ask("status", queued)
    assert (state["status"], state["diameter"], state["radius"], state["open"]) == ("complete", [72, 72], [36, 36], [])
    assert hakoiri.ask("diameter", run, "--all") == hakoiri.ask("diameter", queued, "--all") == here
    assert hakoiri.ask("verify", queued, "--full")["checked"]["eccentricities"] == 248


@pytest.mark.parametrize("arguments", [("--from", START_OF_248), ("--from", START_OF_201, "-o", "metric=finger")])
def test_a_sound_run_is_verified_in_full(arguments: tuple[str, ...], hakoiri: Hakoiri) -> None:
    size = hakoiri.ask("run", "klotski", *arguments)["configurations"]
    found = hakoiri.ask("verify", "last", "--full")
    assert (found["ok"], found["faults"]) == (True, [])
    assert found["checked"]["configurations"] == size


# Naming


def test_a_run_goes_by_name_unique_prefix_or_last(finished: FinishedRuns, hakoiri: Hakoiri) -> None:
    names = ("aa11-klotski", "aa22-klotski", "aa22-klotski-b")
    for name in names:
        finished.copy(finished.explored, hakoiri.data, name)
    made = hakoiri.ask("run", "klotski", "--from", START_OF_2)["run"]
    for given, meant in (("aa1", names[0]), (names[1], names[1]), (names[2], names[2]), ("last", made)):
        sizes = [row["size"] for row in hakoiri.ask("layers", given)["layers"]]
        assert sum(sizes) == (2 if meant == made else 25_955), given
        assert hakoiri.ask("delete", given, "--yes")["runs"] == [meant]
        finished.copy(finished.explored, hakoiri.data, meant) if meant != made else None
    for given, said in (("aa", "is ambiguous: aa11-klotski, aa22"), ("zz", "no run 'zz'"), ("", "no run ''")):
        refused = hakoiri.here("status", given, check=False)
        assert refused.code == 1
        assert said in refused.error
    assert "no runs in" in hakoiri.here("status", "last", data=hakoiri.data / "none", check=False).error


def test_data_lie_where_the_option_else_the_variable_else_the_platform_says(tmp_path: Path, hakoiri: Hakoiri) -> None:
    places = {"option": tmp_path / "a", "variable": tmp_path / "b", "platform": tmp_path / "c" / "hakoiri"}
    made = {
        which: hakoiri.ask("run", "klotski", "--from", START_OF_2, data=place)["run"] for which, place in places.items()
    }
    home = {"XDG_DATA_HOME": str(tmp_path / "c"), "HOME": str(tmp_path)}
    option = hakoiri.ask("status", "last", "--data", str(places["option"]), data=places["variable"], env=home)
    assert option["run"] == made["option"]
    assert hakoiri.ask("status", "last", data=places["variable"], env=home)["run"] == made["variable"]
    assert hakoiri.ask("status", "last", data=None, env=home)["run"] == made["platform"]


@pytest.mark.ci_slow
def test_configurations_are_taken_as_text_or_key_everywhere(finished: FinishedRuns, hakoiri: Hakoiri) -> None:
    run, ask = finished.explored["run"], finished.hakoiri.ask
    key = ask("show", NEAR)["key"]
    assert ask("show", key)["configuration"] == NEAR
    assert ask("show", START)["key"] == ask("show", run)["key"] == START_KEY
    # A run has its options; with others, the word is a board.
    assert "expected 5 rows" in finished.hakoiri.here("show", run, "-o", "metric=unit", check=False).error
    for line, length in (
        (f"distance {run} {{near}}", 2),
        (f"distance {run} {{start}} --from {{near}}", 2),
        (f"path {run} --to {{near}}", 2),
        (f"path {run} --from {{near}} --to {{start}}", 2),
        (f"path {run} --from {{near}} --to goal", 114),
    ):
        by_text = ask(*line.format(near=NEAR, start=START).split())
        assert by_text["length"] == length, line
        for near, start in ((key, START_KEY), (key.upper().replace("X", "x"), START), (NEAR, START_KEY)):
            assert ask(*line.format(near=near, start=start).split()) == by_text, line
    small = hakoiri.ask("run", "klotski", "--from", hakoiri.ask("show", START_OF_201)["key"])
    assert small["configurations"] == 201
    assert hakoiri.ask("resume", "last", "--from", START_OF_201)["run"] == small["run"]


def test_a_goal_that_may_mean_several_pieces_is_warned_of_in_one_line(hakoiri: Hakoiri) -> None:
    board = ("run", "sliding", "--from", "AB/C.", "--goal", "A@2,2")
    found = hakoiri.here(*board, "--json")
    assert "hakoiri: goal=A@2,2: any of the 3 pieces of the shape of A satisfies it; for A itself add distinct=A" in (
        found.stderr.splitlines()
    )
    assert found.json["goal_depth"] == 1
    apart = hakoiri.here(*board, "-o", "distinct=A", "--json")
    assert (apart.json["goal_depth"], "satisfies it" in apart.stderr) == (5, False)
    assert "satisfies it" not in hakoiri.here("path", found.json["run"]).stderr


def test_a_configuration_may_begin_with_a_minus(hakoiri: Hakoiri) -> None:
    burnt, shown = "-2,1,-3", "-2 1 -3"
    line = ("show", burnt, "--puzzle", "burnt-pancakes", "-o", "n=3")
    assert hakoiri.ask(*line)["configuration"] == shown
    assert shown in hakoiri.here(line[0], *line[2:], "--", burnt).stdout
    hakoiri.here("run", "burnt-pancakes", "-o", "n=3", "--from", burnt)
    assert hakoiri.ask("distance", "last", "-1,2,3")["configurations"][0] == shown
    assert hakoiri.ask("path", "last", "--to", "-1,2,3", "--from", "-3,2,1")["configurations"][-1] == "-1 2 3"
    assert hakoiri.ask("component-of", "last", burnt)["component"] == 0
    assert "No such option: -q" in hakoiri.here("show", "-q1", check=False).stderr


def test_a_data_directory_need_not_be_text(hakoiri: Hakoiri, tmp_path: Path) -> None:
    """Nor its runs, which LMDB opens by name."""
    data = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe"))
    run = hakoiri.ask("run", "klotski", "--from", START_OF_2, data=data)["run"]
    for line in ("layers last", "verify last --full", "diameter last", "runs"):
        hakoiri.here(*line.split(), data=data)
    assert [entry.name for entry in data.iterdir()] == [run]


def test_commands_have_help_without_docstrings() -> None:
    """As with ``PYTHONOPTIMIZE=2``."""
    assert Command("runs", help=None).get_short_help_str() == ""


def test_a_time_zone_that_python_has_no_times_for_is_one_line() -> None:
    for zone in ("XXX+24", "XXX0YYY-99"):
        env = clean_environment(TZ=zone)
        ended = subprocess.run([HAKOIRI, "runs"], env=env, check=False, capture_output=True, text=True)
        said = f"hakoiri: the time zone TZ={zone!r} is a day or more from UTC; set another\n"
        assert (ended.returncode, ended.stderr) == (1, said)


# The commands ``path --count``, ``--all`` and ``--avoid``, and ``hardest`` of a run and of what belongs to it


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


@pytest.mark.ci_slow
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
