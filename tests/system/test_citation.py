"""Citations: the command in one makes a run with the digest that it states."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from hakoiri import open_run
from hakoiri.rows.citation import citation
from tests.support.commands import Hakoiri


@pytest.mark.parametrize(
    "line",
    [
        "run hanoi -o discs=4 --merge-mirrors --keep depths",
        "run klotski --from ABBC/ABBC/DEEF/DGHF/I..J --layers 4",
        pytest.param("run tiles -o columns=2 --whole", marks=pytest.mark.ci_slow),
        pytest.param("run tiles -o columns=2 --until-goal --from 12/34/5.", marks=pytest.mark.ci_slow),
    ],
)
def test_the_command_of_a_citation_makes_the_run_again(line: str, hakoiri: Hakoiri) -> None:
    def entry(name: str) -> tuple[str, Any, Any]:
        with open_run(name, hakoiri.data) as run:
            text = citation(run)
        command = re.search(r"texttt{(.*)}},", text)
        digests = re.search(r"note = {(.*)}", text)
        assert command and digests and text.startswith(f"@misc{{hakoiri-{name},\n")
        return re.sub(r"\\([&%$#_{}])", r"\1", command[1]), digests[1], text

    command, digests, text = entry(hakoiri.here(*line.split(), "--json").json["run"])
    again = entry(hakoiri.here(*shlex.split(command)[1:], "--json").json["run"])
    assert again[:2] == (command, digests)
    assert ("not exhausted" in text) == ("--layers" in line or "--until-goal" in line)


@pytest.mark.ci_slow
def test_studies_and_several_starts_are_cited_too(hakoiri: Hakoiri, tmp_path: Path) -> None:
    (tmp_path / "starts").write_text(".1/23/45\n1./23/45\n")
    lines = {
        "run tiles -o rows=3 -o columns=2 --from {starts}": "--from FILE",
        "study sizes pancakes --sizes 3,4": "sizes pancakes",
        "study deals gap --sizes 3 --deals 2": "study gap",
        "run magic-star": "tree magic-star",
    }
    for line, said in lines.items():
        hakoiri.here(*line.format(starts=tmp_path / "starts").split())
        assert said in hakoiri.ask("cite", "last")["bibtex"]
