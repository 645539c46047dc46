"""Completion as shells ask for it: by environment variables. It imports nothing that takes time and runs no file."""

import subprocess
from pathlib import Path

import pytest

from hakoiri.puzzles.registry import PUZZLES
from hakoiri.puzzles.user.sources import classes_in, options_in
from tests.support.commands import HAKOIRI, ROOT, START_OF_2, Hakoiri, clean_environment
from tests.support.seeds import usual


def completed(hakoiri: Hakoiri, shell: str, line: str) -> list[str]:
    """Return the words that are offered at the end of a line."""
    told = {"_HAKOIRI_COMPLETE": f"complete_{shell}"}
    if shell == "bash":
        # Bash takes these for words of their own.
        words = line.replace("=", " = ").replace(":", " : ").split(" ")
        words = words[:-1] if words[-2:] in (["=", ""], [":", ""]) else words
        told |= {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    else:
        told |= {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    done = hakoiri.here(env=told)
    assert done.stderr == ""
    if shell == "zsh":
        return [word.replace("\\\\", "") for word in done.stdout.split('"')[1::2]]
    return done.stdout.split()


@usual(1, "shell", ["bash", "zsh", "fish"])
def test_puzzles_options_and_values_are_offered(
    hakoiri: Hakoiri, shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offered(line: str) -> list[str]:
        return completed(hakoiri, shell, line)

    def value(option: str, value: str) -> str:
        """Bash wants what comes after the ``=``."""
        return value if shell == "bash" else f"{option}={value}"

    assert offered("hakoiri run k") == ["klotski"]
    assert {*PUZZLES} <= {*offered("hakoiri run ")}
    assert offered("hakoiri run klotski -o ") == ["metric=unit", "metric=straight", "metric=finger"]
    assert offered("hakoiri run klotski -o metric=") == [
        value("metric", each) for each in ("unit", "straight", "finger")
    ]
    assert offered("hakoiri show --puzzle hanoi -o p") == [f"pegs={number}" for number in range(3, 9)]
    assert offered("hakoiri enqueue superpuzz -o goals=2") == [value("goals", "24")]
    assert offered("hakoiri run sliding -o go") == ["goal="]
    assert offered("hakoiri run klotski -o metric=unit -o ") == []
    assert offered("hakoiri run tiles -o rows=2 -o r") == []
    assert offered("hakoiri run tiles -o rows=2 -o columns=4") == [value("columns", "4")]
    assert offered("hakoiri path last --to ") == ["goal", "farthest"]
    assert offered("hakoiri path last --to f") == ["farthest"]
    assert offered("hakoiri runs --status c") == ["complete", "cancelled"]
    assert offered("hakoiri study deals ga") == ["gap"]
    assert offered("hakoiri study sizes hanoi -o p") == [f"pegs={number}" for number in range(3, 9)]
    assert offered("hakoiri puzzles nosuch -o ") == []
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("from hakoiri import Puzzle\nraise SystemExit('run')\nclass Mine(Puzzle): ...\n")
    (tmp_path / "other.py").write_text("class Other: ...\n")
    assert offered("hakoiri try mi") == ["mine.py:Mine"]
    assert offered("hakoiri try oth") == []
    assert offered("hakoiri try mine.py:M") == (["Mine"] if shell == "bash" else ["mine.py:Mine"])
    own = f"{ROOT}/examples/lights_out.py:LightsOut"
    assert offered(f"hakoiri run {own} -o n=") == [value("n", str(number)) for number in range(2, 6)]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_runs_are_offered_the_last_first(hakoiri: Hakoiri, shell: str) -> None:
    assert completed(hakoiri, shell, "hakoiri path ") == ["last"]
    for name in ("one", "two", "lasting"):
        hakoiri.here("run", "klotski", "--from", START_OF_2, "--name", name)
    assert completed(hakoiri, shell, "hakoiri path ") == ["last", "lasting", "two", "one"]
    assert completed(hakoiri, shell, "hakoiri delete two la") == ["last", "lasting"]
    assert completed(hakoiri, shell, f"hakoiri status --data {hakoiri.data} tw") == ["two"]
    assert completed(hakoiri, shell, f"hakoiri status --data {hakoiri.data}/none ") == ["last"]


def test_completion_is_installed_for_the_shell_that_is_named(hakoiri: Hakoiri, tmp_path: Path) -> None:
    for shell, file in (("zsh", ".zfunc/_hakoiri"), ("fish", ".config/fish/completions/hakoiri.fish")):
        home = tmp_path / shell
        said = hakoiri.here("--install-completion", shell, env={"HOME": str(home)}).stdout
        assert f"{shell} completion installed in {home / file}" in said
        assert f"complete_{shell}" in (home / file).read_text()
        assert not (home / ".bashrc").exists()
    refused = hakoiri.here("--install-completion", env={"HOME": str(tmp_path)}, check=False)
    assert (refused.code, "requires an argument" in refused.stderr) == (2, True)


@pytest.mark.ci_slow
def test_bash_completes_a_line(tmp_path: Path) -> None:
    """With the script that it is given, in one process of Python that loads no numpy."""
    script = """
        source <(hakoiri --show-completion bash)
        COMP_WORDS=(hakoiri run klotski -o metric = st); COMP_CWORD=6
        PYTHONPROFILEIMPORTTIME=1 _hakoiri_completion hakoiri 2>imports; echo "${COMPREPLY[@]}"
    """
    env = clean_environment(PATH=f"{HAKOIRI.parent}:/usr/bin:/bin")
    done = subprocess.run(["bash", "-c", script], env=env, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "straight\n"
    imports = (tmp_path / "imports").read_text()
    assert "hakoiri.cli.completing" in imports
    assert "numpy" not in imports
    assert "numba" not in imports


@pytest.mark.parametrize(
    "text",
    [
        "", "class Mine:", "options = options", "class Mine:\n  options = f()",
        "class Mine:\n  options = {'n': Number(1)}", "class Mine:\n  x = x\n  options = x",
        "from nowhere import options", "\0",
    ],
)  # fmt: skip
def test_a_source_that_does_not_say_is_no_mistake(text: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(f"from hakoiri import Puzzle\n{text}\n")
    assert options_in(tmp_path / "mine.py", "Mine") == {}
    assert classes_in(tmp_path) == classes_in(tmp_path / "none.py") == []
