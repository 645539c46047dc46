"""The scripts: they parse, they do nothing twice, and a fresh clone comes to the published numbers by one command."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.type_pages import LEFT_OUT, PAGES, left_out, missing, steps
from tests.support.commands import ROOT

SCRIPTS = sorted(
    path
    for path in [*ROOT.glob("scripts/*"), ROOT / ".ci/run"]
    if path.suffix not in (".py", ".json", ".mjs") and path.is_file()
)
STAMP = ".venv/hakoiri-stamp"


def call(*argv: str | Path, **options: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(argv, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, **options)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_parses_and_stops_at_errors(script: Path) -> None:
    """By the shell that it names; the exceptions to ``set -e`` count failures themselves."""
    text = script.read_text(encoding="utf-8")
    shell = re.match(r"#!/usr/bin/env (bash)\n|#!/bin/(sh)\n", text)
    assert shell, "names no shell"
    assert os.access(script, os.X_OK)
    done = call(shell[1] or shell[2], "-n", script)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^set -eu", text, re.MULTILINE) or 'exit "$failed"' in text


def test_hooks_and_workflow_call_what_there_is() -> None:
    """Nothing of another host but the checkout, and no second list of what is checked."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert [repo["repo"] for repo in hooks] == ["local"]
    entries = [Path(hook["entry"].split()[0]) for hook in hooks[0]["hooks"]]
    assert [entry for entry in entries if entry.parts[0] != ".venv" and not (ROOT / entry).is_file()] == []
    (job,) = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"].values()
    assert job["steps"][-1] == {"run": ".ci/run"}
    assert [step["uses"].split("@")[0] for step in job["steps"] if "uses" in step] == ["actions/checkout"]


@pytest.mark.ci_slow
def test_lines_of_the_core_rise_with_a_word(tmp_path: Path) -> None:
    """Against the merge base with main, on main against the commit before, and nothing without one."""
    tree = tmp_path / "tree"
    core, guest = tree / "hakoiri/storage/file.py", tree / "hakoiri/guests/one/file.py"
    for path in (core, guest, script := tree / "scripts/lines.py"):
        path.parent.mkdir(parents=True)
    shutil.copy2(ROOT / "scripts/lines.py", script)

    def git(*words: str) -> None:
        done = call("git", "-c", "user.name=a", "-c", "user.email=a@b", *words, cwd=tree)
        assert done.returncode == 0, done.stderr

    def lines(core_lines: int, guest_lines: int, *words: str) -> str:
        core.write_text("x\n" * core_lines, encoding="utf-8")
        guest.write_text("x\n" * guest_lines, encoding="utf-8")
        git("add", ".")
        if words:
            git("commit", "-q", *(part for word in words for part in ("-m", word)))
        done = call(sys.executable, script)
        assert (done.returncode == 0) == (not done.stderr)
        return done.stderr or done.stdout

    git("init", "-q", "-b", "main")
    assert re.search(r" 5 +\+0  core\n.* 5 +\+0  guest one", lines(5, 5, "first"))
    assert re.search(r" 3 +-2  core\n.* 9 +\+4  guest one", lines(3, 9, "fewer"))
    assert "+4 lines since" in lines(7, 9, "more on main"), "the commit before is compared"
    git("checkout", "-q", "-b", "branch")
    assert "+2 lines since" in lines(9, 9), "what is not committed counts"
    assert "+2 lines since" in lines(9, 9, "more", "Core: +1 because of less than that")
    assert "+3 lines since" in lines(10, 9, "more", "It says Core: +3 because of nothing")
    assert re.search(r" 10 +\+3  core\n", lines(10, 8, "word", "Why.", "Core: +2 because something was bought"))
    assert "+4 lines since" in lines(11, 8, "one too many")


@pytest.mark.parametrize("workflow", sorted((ROOT / ".github/workflows").iterdir()), ids=lambda path: path.stem)
def test_workflows_use_commits_and_scripts_that_are_there(workflow: Path) -> None:
    """Whoever owns a tag of an action can move it, a commit not."""
    jobs = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    assert [
        step["uses"] for step in steps if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step.get("uses", f"a@{'0' * 40}"))
    ] == []
    called = re.findall(r"(?<!\S)(?:scripts|\.ci)/\S+", "\n".join(step.get("run", "") for step in steps))
    assert called and [name for name in called if not (ROOT / name).is_file()] == []
    needed = [job.get("needs", []) for job in jobs.values()]
    assert {name for names in needed for name in ([names] if isinstance(names, str) else names)} <= {*jobs}


@pytest.mark.parametrize("workflow", sorted((ROOT / ".github/workflows").iterdir()), ids=lambda path: path.stem)
def test_code_of_others_runs_without_rights(workflow: Path) -> None:
    """Jobs that may write or sign execute nothing but actions and the tools of the machine; no token is left behind."""
    for name, job in yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"].items():
        steps = job["steps"]
        for step in (step for step in steps if step.get("uses", "").startswith("actions/checkout@")):
            assert step["with"]["persist-credentials"] is False
        runs = "\n".join(step.get("run", "") for step in steps)
        assert not re.search(r"pipx install|pip install (?!.*--require-hashes)", runs)
        if {"id-token", "attestations"} & job.get("permissions", {}).keys():
            assert not re.search(r"scripts/|\.venv|docker (build |run)", runs), name
        if options := job.get("container", {}).get("options"):
            assert options.startswith("${{ github.event_name == 'push' && '--privileged'")


def copy_of_the_tree(target: Path) -> Path:
    """The files that a commit of everything here would have, as a clone would give them."""
    asked = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = call(*asked, cwd=ROOT) if shutil.which("git") else None
    if listed is None or listed.returncode:
        pytest.skip("no git checkout, so nothing tells which files belong to it")
    for name in filter(None, listed.stdout.split("\0")):
        source = ROOT / name
        if source.is_symlink() or source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name, follow_symlinks=False)
    return target


def bare_environment(home: Path, **more: str) -> dict[str, str]:
    """A new user's: no settings, nothing cached. How packages are reached is the machine's own."""
    home.mkdir()
    kept = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "LANG", "LC_"))}
    return {"PATH": os.environ["PATH"], "HOME": str(home)} | kept | more


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("file", "requirement", "said"),
    [
        ("pyproject.toml", "", ""),
        ("pyproject.toml", '"rq>=99.0,<100"', "requirements.lock: rq<100,>=99.0 is asked for"),
        ("pyproject.toml", '"rq>=2.0,<99"', "pyproject.toml: rq<99,>=2.0 allows more than is tested"),
        ("pyproject.toml", '"rq>=2.0"', "pyproject.toml: rq>=2.0 allows more than is tested"),
        ("requirements-dev.lock", "rq==0.1", "is installed, requirements-dev.lock pins 0.1"),
    ],
)
def test_the_check_of_the_lock_files(file: str, requirement: str, said: str, tmp_path: Path) -> None:
    for name in ("pyproject.toml", "requirements.lock", "requirements-dev.lock", "scripts/check_locks.py"):
        text = (ROOT / name).read_text(encoding="utf-8")
        if name == file and requirement:
            text = re.sub(r'"rq>=[^"]*"|(?<=\n)rq==\S+', requirement, text)
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = call(sys.executable, tmp_path / "scripts/check_locks.py")
    assert said in done.stderr
    assert done.returncode == (1 if said else 0)


def kernels(home: Path) -> set[Path]:
    return {path for path in (home / ".cache/hakoiri/kernels").rglob("*") if path.is_file()}


@pytest.fixture
def started(tmp_path: Path) -> tuple[Path, dict[str, str], str]:
    """A clone in which README's first command has ended, an environment with an empty home, and what it said."""
    tree = copy_of_the_tree(tmp_path / "tree")
    environment = bare_environment(tmp_path / "home", HAKOIRI_DATA=str(tmp_path / "data"))
    done = call(tree / "scripts/start", env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for number in ("65,880", "898", "190"):
        assert re.search(rf"(?<![\d,]){number}(?![\d,])", done.stdout), f"no {number} in {done.stdout}"
    return tree, environment, done.stderr


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_fresh_clone_answers_by_one_command(started: tuple[Path, dict[str, str], str], tmp_path: Path) -> None:
    """It compiles the kernels of its puzzle; a second setup, from elsewhere, does nothing, and one that moved much."""
    tree, environment, said = started
    assert any((tmp_path / "data").iterdir())
    assert f"start: runs are kept in {tmp_path}/data" in said
    assert list((tree / "hakoiri/cli/__pycache__").glob("app.*.pyc")), "what is imported is compiled"
    assert re.search(r"compiling about \d+ kernels for klotski, once", said)
    before = {path: path.stat().st_mtime_ns for path in (tree / ".venv").rglob("*") if "__pycache__" not in path.parts}
    again = call(tree / "scripts/setup", env=environment, cwd=tmp_path)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert before == {path: path.stat().st_mtime_ns for path in before}
    moved = tree.rename(tmp_path / "moved")
    (moved / STAMP).write_text("stale\n")
    pipe: dict[str, Any] = {"stdout": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen([moved / "scripts/setup"], env=environment, **pipe) as setting_up:
        assert setting_up.stdout is not None
        assert "making .venv" in setting_up.stdout.readline()
        os.killpg(setting_up.pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_all_kernels_are_compiled_in_advance_and_a_clone_may_move(
    started: tuple[Path, dict[str, str], str], tmp_path: Path
) -> None:
    tree, environment, _ = started
    done = call(tree / "scripts/setup", "--all-kernels", env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "compiling the kernels of all puzzles" in done.stderr
    compiled = kernels(tmp_path / "home")
    dad = "sliding --from AABB/AACC/DE../FGHH/FGII --whole"
    for words in ("nakuron", "magic-star", "gap", "superpuzz", "tiles", dad):
        ran = call(tree / ".venv/bin/hakoiri", "run", *words.split(), env=environment)
        assert (ran.returncode, "compiling" in ran.stderr) == (0, False), ran.stderr
    assert kernels(tmp_path / "home") == compiled
    moved = tree.rename(tmp_path / "moved")
    (moved / STAMP).write_text("stale\n")
    assert "making .venv" in call(moved / "scripts/setup", env=environment).stdout
    assert call(moved / ".venv/bin/hakoiri", "runs", env=environment).returncode == 0


@pytest.mark.ci_slow
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_units_for_systemd_are_without_fault(tmp_path: Path) -> None:
    units = sorted((ROOT / "examples" / "systemd").glob("*.service"))
    assert len(units) == 4
    hakoiri = str(Path(sys.executable).with_name("hakoiri"))
    for unit in units:
        text = unit.read_text(encoding="utf-8")
        assert "\nUser=hakoiri\n" in text and "\nStateDirectory=hakoiri\n" in text
        (tmp_path / unit.name).write_text(text.replace("/usr/local/bin/hakoiri", hakoiri), encoding="utf-8")
        done = call("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", tmp_path / unit.name)
        assert (done.returncode, done.stderr) == (0, ""), unit
        command = text.split("\nExecStart=/usr/local/bin/hakoiri ")[1].split("\n")[0].split()
        known = call(hakoiri, command[0], "--help").stdout
        assert not [word for word in command if word.startswith("-") and word not in known]


# The pages for newcomers, as they are typed


def test_the_lines_of_a_page_that_are_not_typed_and_not_printed() -> None:
    """A beginning of a line that no page has is a stale one."""
    typed = [step.command for page in PAGES for step in steps((ROOT / page).read_text(encoding="utf-8"))]
    beginnings = [each for lines in LEFT_OUT.values() for each in lines]
    assert [each for each in beginnings if not any(command.startswith(each) for command in typed)] == []
    assert sum(map(left_out, typed)) < 40 and len(typed) > 300
    page = "Save it as `a.py`:\n```python\n1\n```\n```console\n$ x\none 0.3 s\n$ y\n```\n```sh\n# no\nz\n```\n"
    assert [tuple(step) for step in steps(page)] == [
        ("", (), "a.py", "1\n"), ("x", ("one 0.3 s",), "", ""), ("y", (), "", ""), ("z", (), "", ""),
    ]  # fmt: skip
    assert missing(("one 0.3 s", "two", "three"), "one  12 ms\nthree\ntwo") == ["three"]
    assert missing(("run 0a1b2c-x",), "run   ffffff-x\n") == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("apt-get") is None, reason="needs root and apt-get")
def test_a_bare_debian_prints_what_the_pages_show() -> None:
    done = call(ROOT / "scripts/on-debian", "trixie", "--pages")
    assert done.returncode == 0, done.stdout
