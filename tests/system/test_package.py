"""The distribution: one package, complete, that neither shadows a user's modules nor is shadowed by them."""

import ast
import csv
import re
import subprocess
import sys
import tomllib
import zipfile
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.support.commands import ROOT, Hakoiri, clean_environment
from tests.support.servers import RedisServer, started_workers
from tests.system.test_scripts import call, copy_of_the_tree

FOLDERS = ("puzzles", "storage", "worker", "coordinator")
#: setuptools changes `sys.argv`.
BUILD = "import sys; from setuptools import build_meta as b; to = sys.argv[1]; b.build_wheel(to); b.build_sdist(to)"


def build(tree: Path, target: Path) -> tuple[Path, Path]:
    """Build the wheel and the sdist of `tree`; return their paths."""
    subprocess.run([sys.executable, "-c", BUILD, target], cwd=tree, check=True, capture_output=True)
    (wheel,), (sdist,) = target.glob("*.whl"), target.glob("*.tar.gz")
    return wheel, sdist


def sources() -> set[str]:
    """The files that users import or that the page is made of, by their installed paths."""
    found = {f"hakoiri/{path.relative_to(ROOT)}" for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    found |= {str(path.relative_to(ROOT)) for path in (ROOT / "hakoiri").rglob("*.py") if path.is_file()}
    static = [*(ROOT / "hakoiri" / "web" / "static").rglob("*"), *(ROOT / "hakoiri" / "render").glob("*.html")]
    found |= {
        "hakoiri/py.typed",
        "hakoiri/cli/hakoiri.1",
        f"hakoiri-{version('hakoiri')}.data/data/share/man/man1/hakoiri.1",
    }
    return found | {str(path.relative_to(ROOT)) for path in static if path.is_file()}


def test_the_version_is_the_same_everywhere() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    for name, pattern in {
        "CITATION.cff": r"^version: (.*)$", "CHANGELOG.md": r"\A# Changes\n\n## (\S+)",
        "Dockerfile": r'version="(.*?)"',
        "docker-compose.yml": r"hakoiri:([\d.]+)", "examples/kubernetes/hakoiri.yaml": r"hakoiri:([\d.]+)$",
        "examples/kubernetes/README.md": r"hakoiri:([\d.]+\d)",
    }.items():  # fmt: skip
        found = re.findall(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        assert {*found} == {version}, name


@pytest.mark.slow
def test_the_deposit_of_data(tmp_path: Path) -> None:
    """Its checksums hold, and the graph is whole: no vertex twice, and both ends of each edge among the vertices."""
    target = tmp_path / "deposit"
    subprocess.run([sys.executable, ROOT / "scripts/deposit.py", target], check=True, capture_output=True)
    assert call("sha256sum", "--check", "--quiet", "SHA256SUMS", cwd=target).returncode == 0
    files = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    sums = (target / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    assert files == {line.split("  ")[1] for line in sums} | {"SHA256SUMS"}

    def column(name: str, place: int) -> list[str]:
        with (target / "hakoiri-musume" / name).open(encoding="utf-8", newline="") as file:
            return [row[place] for row in csv.reader(file)][1:]

    keys, sources, targets = column("configurations.csv", 0), column("moves.csv", 0), column("moves.csv", 1)
    assert (len(keys), len({*keys}), len(sources)) == (65_880, 65_880, 103_390)
    assert {*sources, *targets, *column("depths.csv", 0)} <= {*keys}
    assert "65,880 configurations" in (target / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the sdist as an index would have it."""
    directory = tmp_path_factory.mktemp("package")
    _, sdist = build(copy_of_the_tree(directory / "tree"), directory)
    # Python has a safe way only from 3.11.4 on.
    subprocess.run(["tar", "-xf", str(sdist), "-C", str(directory)], check=True)
    return build(directory / sdist.name.removesuffix(".tar.gz"), directory / "again")[0]


@pytest.fixture
def shadows(tmp_path: Path) -> Path:
    """A directory with modules of the user's own, called like our folders."""
    directory = tmp_path / "own"
    directory.mkdir()
    for folder in (*FOLDERS, "tests"):
        (directory / f"{folder}.py").write_text("raise SystemExit('taken for a module of Hakoiri')\n", encoding="utf-8")
    return directory


@pytest.mark.ci_slow
def test_the_distribution_holds_one_package_and_all_of_it(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == sources()


@pytest.mark.ci_slow
def test_modules_of_the_user_do_not_shadow_ours(shadows: Path) -> None:
    program = "from hakoiri import explore; run = explore('klotski', data='runs'); print(len(run.path('goal').moves))"
    done = call(sys.executable, "-c", program, cwd=shadows, env=clean_environment())
    assert (done.returncode, done.stdout) == (0, "116\n"), done.stderr


def test_texts_name_no_page_that_a_wheel_lacks() -> None:
    """Neither errors nor help; comments and docstrings may."""
    named = re.compile(r"docs/.*\.md")
    for path in (ROOT / "hakoiri").rglob("*.py"):
        # Parsing all of them takes seconds.
        if not named.search(source := path.read_text(encoding="utf-8")):
            continue
        tree = ast.parse(source)
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        shown = [str(node.value) for node in texts if id(node) not in docs]
        assert not [text for text in shown if named.search(text)], path


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("extras", [pytest.param("", id="plain"), pytest.param("[web,parquet]", id="extras")])
def test_an_installed_wheel_works_beside_modules_of_the_user(
    wheel: Path, extras: str, shadows: Path, tmp_path: Path
) -> None:
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    listed = set(_packages(environment))
    options = ["-qq", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([environment / "bin" / "pip", "install", *options, f"{wheel}{extras}"], check=True, cwd=tmp_path)
    new = set(_packages(environment)) - listed
    assert "hakoiri" in new
    assert not new & {*FOLDERS, "tests", "benchmarks", "campaigns", "scripts", "docs", "examples"}

    program = environment / "bin" / "hakoiri"
    command = Hakoiri(tmp_path)
    with ExitStack() as stack:
        stack.callback(command.close)
        ran = command.json("run", "klotski", cwd=shadows, executable=program)
        assert (ran["configurations"], ran["status"]) == (25_955, "complete")
        server = stack.enter_context(RedisServer(tmp_path / "redis"))
        stack.enter_context(started_workers(command, server.url, 2, executable=program))
        words = ("run", "klotski", "--redis", server.url, "--farm", "1")
        by_workers = command.json(*words, cwd=shadows, executable=program)
        assert by_workers["digest"] == ran["digest"]
        question = "from hakoiri import open_run; print(open_run('last').diameter().diameter)"
        own = clean_environment(HAKOIRI_DATA=str(command.data))
        asked = call(environment / "bin" / "python", "-c", question, cwd=shadows, env=own)
        assert asked.stdout == "190\n", asked.stderr
        # A host of other machines is refused before anything listens, but after what it needs was found.
        for line, needed in (("export last --to t.parquet", "parquet"), ("serve --host 0.0.0.0", "web")):
            done = command(*line.split(), cwd=shadows, executable=program, check=False)
            assert (f"pip install 'hakoiri[{needed}]'" in done.stderr) is not bool(extras), done


def _packages(environment: Path) -> list[str]:
    (packages,) = environment.glob("lib/python*/site-packages")
    return [path.name for path in packages.iterdir()]
