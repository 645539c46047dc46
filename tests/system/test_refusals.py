"""Command lines that are refused, with their exit codes and words: those of refusals.json, before there is any run."""

import json
import shlex
from pathlib import Path

import pytest

from tests.support.commands import Hakoiri

REFUSALS = json.loads(Path(__file__).with_name("refusals.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("line", "code", "said"), REFUSALS, ids=lambda part: str(part)[:80])
def test_bad_words_leave_nothing_behind(line: str | list[str], code: int, said: str, hakoiri: Hakoiri) -> None:
    """One line names what is wrong; wrong usage is explained in a frame."""
    refused = hakoiri.here(*(shlex.split(line) if isinstance(line, str) else line), check=False)
    assert (refused.code, refused.stdout) == (code, "")
    if code == 1:
        assert said in refused.error
        assert refused.stderr == f"{refused.error}\n", "more than one line"
    assert said in " ".join(refused.stderr.replace("│", " ").split())
    assert not hakoiri.data.exists()
