"""Files with definitions on the command line: what was read is said, and what cannot be read is refused in one line."""

import os
from pathlib import Path

import pytest

from tests.support.commands import Hakoiri

SEQUENCE = """Name Four
Set P 4 1
Solved
P
1 1 3 4
End
Move L
P
2 3 1 4
End
Move Fv
P
4 3 2 1
End
MoveSequence R Fv L Fv
Illegal P 4 3
"""


def test_what_was_read_is_said(hakoiri: Hakoiri, tmp_path: Path) -> None:
    file = tmp_path / "four.tws"
    file.write_text(SEQUENCE)
    said = "four.tws: moves L, R, of 3 in the file; turns of the whole Fv; P 4 places; pieces like another: 1; illegal"
    for words in [("show", "--puzzle", str(file), "L"), ("run", str(file))]:
        done = hakoiri.here(*words)
        assert said in " ".join(done.stderr.split())
    assert "configurations       9" in done.stdout


@pytest.mark.parametrize("name", ["pipe.tws", "zero.tws", "folder.tws", "large.tws", "none.tws"])
def test_what_is_no_file_of_a_definition_is_refused(name: str, hakoiri: Hakoiri, tmp_path: Path) -> None:
    file = tmp_path / name
    match name:
        case "pipe.tws":
            os.mkfifo(file)
        case "zero.tws":
            file.symlink_to("/dev/zero")
        case "folder.tws":
            file.mkdir()
        case "large.tws":
            with file.open("wb") as hole:
                hole.truncate(1 << 40)
    done = hakoiri.here("run", str(file), check=False)
    assert done.code
    (line,) = done.stderr.splitlines()
    assert name in line


@pytest.mark.ci_slow
def test_a_name_of_a_file_forges_no_line(hakoiri: Hakoiri, tmp_path: Path) -> None:
    (tmp_path / "a\x1b[2J\n2026-11-29 x.tws").write_text("Set P 3 1\nMove A\nP\n2 3 1\nEnd\n")
    said = hakoiri.here("run", str(tmp_path / "a\x1b[2J\n2026-11-29 x.tws"))
    assert "a\\x1b[2J\\n2026-11-29 x.tws: moves A; P 3 places" in said.stderr
    assert "\x1b" not in said.stdout + said.stderr
    assert not any(line.startswith("2026") for line in (said.stdout + said.stderr).splitlines())
