"""Output of commands for people, on a pipe and on a terminal, their pictures, and the speed of the quick ones."""

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import matplotlib.image
import pytest

from hakoiri.questions import paths
from hakoiri.render import films, tables
from tests.support.commands import HAKOIRI, PATIENCE_SECONDS, ROOT, START_OF_2, FinishedRuns, Hakoiri, clean_environment
from tests.support.seeds import usual

START = "ABBC/ABBC/DEEF/DGHF/I..J"
ESCAPE = "\x1b"
#: Questions, and what stands in the answers.
ANSWERS = json.loads(Path(__file__).with_name("commands.json").read_text(encoding="utf-8"))["answers for people"]
#: Importing any of these takes a tenth of a second and more.
SLOW_TO_IMPORT = {"numba", "numpy", "rq", "redis", "matplotlib", "networkx", "pydantic"}
FRAMED = """\
┌───┬───────┬───┐
│ A │ B     │ C │
│   │       │   │
│   │       │   │
├───┼───────┼───┤
│ D │ E     │ F │
│   ├───┬───┤   │
│   │ G │ H │   │
├───┼───┴───┼───┤
│ I │       │ J │
└───┘       └───┘"""


def run_name(finished: FinishedRuns, line: str) -> list[str]:
    return line.format(explored=finished.explored["run"], counted=finished.counted["run"]).split()


@usual(13, ("line", "fragments"), ANSWERS)
def test_answers_for_people(line: str, fragments: list[str], finished: FinishedRuns) -> None:
    done = finished.hakoiri.here(*run_name(finished, line))
    flat = " ".join(done.stdout.split())
    assert not [fragment for fragment in fragments if fragment not in flat], done
    assert ESCAPE not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.ci_slow
def test_runs_for_people(hakoiri: Hakoiri) -> None:
    explored = " ".join(hakoiri.here("run", "klotski").stdout.split())
    for fragment in ("configurations 25,955", "depth 167", "nearest goal 116 moves", "2,220 around layer 57"):
        assert fragment in explored
    counted = " ".join(hakoiri.here("run", "klotski", "--whole").stdout.split())
    for fragment in ("configurations 65,880", "moves between them 103,390", "components 898", "892 smaller ones"):
        assert fragment in counted
    for more, none in ((("--from", START_OF_2), "none"), (("--layers", "3"), "none within 3 moves")):
        explored = " ".join(hakoiri.here("run", "klotski", *more).stdout.split())
        assert f"nearest goal {none}" in explored
    queued = hakoiri.here("enqueue", "klotski")
    assert "--watch" in queued.stdout
    assert "is cancelled" in hakoiri.here("cancel", "last").stdout
    assert "is deleted" in hakoiri.here("delete", "last", "--yes").stdout


def test_run_and_resume_print_digests_whole_on_request(hakoiri: Hakoiri, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_FILE_WIDTH", 60)
    for line in (f"run klotski --from {START_OF_2}", "resume last"):
        short, whole = (hakoiri.here(*line.split(), *wide).stdout for wide in ([], ["--wide"]))
        assert re.search(r"^digest +[0-9a-f]{12}… *$", short, re.MULTILINE), short
        assert len(re.findall("[0-9a-f]", re.split(r"^digest|^computing", whole, flags=re.MULTILINE)[1])) == 64, whole


def test_a_board_is_framed(hakoiri: Hakoiri) -> None:
    shown = [line.rstrip() for line in hakoiri.here("show", START).stdout.splitlines()]
    assert shown[: len(FRAMED.splitlines())] == FRAMED.splitlines()


def test_a_solution_is_drawn_step_by_step(finished: FinishedRuns) -> None:
    """Every board of the JSON stands in the drawing, under its number and move."""
    told = finished.hakoiri.ask(*run_name(finished, "path {explored}"))
    drawn = finished.hakoiri.here(*run_name(finished, "path {explored}")).stdout
    titles = [f"{number} {move}" for number, move in enumerate(told["moves"], 1)]
    assert not [title for title in titles if not re.search(rf"(^|  ){title}( |$)", drawn, re.MULTILINE)]
    columns: list[list[str]] = []
    for group in drawn.split("\n\n"):
        lines = [line.split() for line in group.strip("\n").splitlines()[1:]]
        columns += [list(board) for board in zip(*lines, strict=True)] if lines else []
    assert ["/".join(board) for board in columns] == told["configurations"]


@pytest.mark.parametrize("ending", ["gif", "svg", "html"])
def test_a_path_becomes_a_film(ending: str, finished: FinishedRuns, tmp_path: Path) -> None:
    target = tmp_path / f"path.{ending}"
    line = run_name(finished, "path {explored} --to ABBC/ABBC/DEEF/DGHF/.IJ. --film")
    done = finished.hakoiri.here(*line, str(target))
    assert (done.stdout, done.stderr) == ("2 moves\n", f"written to {target}\n")
    begin = {"gif": b"GIF89a", "svg": b"<svg ", "html": b"<!DOCTYPE html>"}[ending]
    assert target.read_bytes().startswith(begin)
    if ending != "gif":
        assert "2 of 2: J left" in target.read_text(encoding="utf-8")


def test_a_very_long_path_is_no_film_and_has_no_colours(
    finished: FinishedRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = run_name(finished, "path {explored} --to ABBC/ABBC/DEEF/DGHF/.IJ.")
    usual = finished.hakoiri.here(*line).stdout
    monkeypatch.setattr(films, "MOST_FILMED", 1)
    monkeypatch.setattr(paths, "_COLOURED", 1)
    refused = finished.hakoiri.here(*line, "--film", str(tmp_path / "path.svg"), check=False)
    assert "the film has 2 moves, above the limit of 1" in refused.error
    assert not list(tmp_path.iterdir())
    assert finished.hakoiri.here(*line).stdout == usual


def test_diametral_pairs_are_drawn(finished: FinishedRuns, tmp_path: Path) -> None:
    target = tmp_path / "pairs.svg"
    finished.hakoiri.here(*run_name(finished, "diameter {counted} --component 2 --plot"), str(target))
    text = target.read_text(encoding="utf-8")
    assert all(words in text for words in ("klotski, metric=unit", "248 configurations, diameter 72", "pair 3"))
    # Ten pieces, the ground and the goal on each of six boards, words below each, and the heading.
    assert text.count("data-piece=") == 6 * 13 + 1
    across, down = (float(size) for size in re.findall(r' (?:width|height)="([\d.]+)"', text)[:2])
    assert across > down, "four boards beside each other, two below"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("path {explored} --film film.png", "must end in .gif, .svg, .html"),
        ("path {explored} --statistics --film film.svg", "--statistics cannot be combined with"),
        ("diameter {counted} --plot pairs.gif", "must end in .svg, .png"),
        ("show ABBC/ABBC/DEEF/DGHF/I..J --plot board.pdf", "must end in .svg, .png"),
    ],
)
def test_a_picture_of_no_kind_is_refused(line: str, said: str, finished: FinishedRuns) -> None:
    refused = finished.hakoiri.here(*run_name(finished, line), check=False)
    assert (refused.code, refused.stdout) == (1, "")
    assert said in refused.error


@pytest.mark.ci_slow
def test_a_terminal_gets_colours_and_a_pipe_does_not(hakoiri: Hakoiri) -> None:
    ours, theirs = pty.openpty()
    command = [str(HAKOIRI), "run", "klotski", "--data", str(hakoiri.data)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=clean_environment()) as process:
        os.close(theirs)
        seen = b""
        with suppress(OSError):  # The end of a terminal is an error.
            while block := os.read(ours, 1 << 16):
                seen += block
        os.close(ours)
        assert process.wait(PATIENCE_SECONDS) == 0
    assert ESCAPE.encode() in seen
    assert b"25,955" in seen


@pytest.mark.ci_slow
@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_layers_are_plotted(ending: str, finished: FinishedRuns, tmp_path: Path) -> None:
    target = tmp_path / f"layers.{ending}"
    finished.hakoiri.here(*run_name(finished, "layers {explored} --plot"), str(target))
    if ending != "png":
        assert target.read_bytes().startswith({"svg": b"<?xml", "pdf": b"%PDF"}[ending])
        return
    height, width, _ = (picture := matplotlib.image.imread(target)).shape
    assert (height, width) == (540, 1080)
    assert picture.std() > 0.05, "an empty picture"


@pytest.mark.parametrize(
    ("target", "said"), [("layers.bmp", "must end in .png"), ("none/layers.png", "cannot write"), ("", "must end in")]
)
def test_a_plot_that_cannot_be_drawn_is_refused(target: str, said: str, finished: FinishedRuns, tmp_path: Path) -> None:
    refused = finished.hakoiri.here(
        *run_name(finished, "layers {explored} --plot"), str(tmp_path / target), check=False
    )
    assert refused.code == 1
    assert said in refused.error
    assert not list(tmp_path.iterdir())


@pytest.mark.ci_slow
@pytest.mark.parametrize("line", ["--help", "run --help", "runs", "runs --json", "status last", "status last --json"])
def test_quick_commands_import_nothing_slow(line: str, finished: FinishedRuns) -> None:
    program = (
        "import sys\n"
        "from hakoiri.cli import main\n"
        f"sys.argv[1:] = {line.split()!r}\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "print(*sorted(sys.modules), file=sys.stderr)\n"
    )
    environment = clean_environment(HAKOIRI_DATA=str(finished.hakoiri.data))
    asked = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    loaded = set(asked.stderr.split())
    assert "hakoiri.cli.app" in loaded
    assert not SLOW_TO_IMPORT & loaded
    assert "hakoiri.guests.deals.commands" not in loaded, "a module of other commands"


@pytest.mark.ci_slow
@usual(1, "line", ["layers {explored}", "runs --json"])
def test_a_reader_that_leaves_is_no_error(line: str, finished: FinishedRuns) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    left = subprocess.run(
        [HAKOIRI, *run_name(finished, line)], stdout=writer, stderr=subprocess.PIPE, text=True, check=False,
        env=clean_environment(HAKOIRI_DATA=str(finished.hakoiri.data)),
    )  # fmt: skip
    os.close(writer)
    assert (left.returncode, left.stderr) == (0, "")
