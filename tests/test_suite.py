"""The suite about itself: costly cases are refused, and which cases of a test are marked."""

import subprocess
import sys
from typing import Any

import pytest

from tests.support.commands import ROOT
from tests.support.seeds import usual

_BURN = "import time\nwhile time.process_time() < 0.1: pass"


@pytest.mark.parametrize(("most", "refused"), [("0.05", True), ("30", False), ("", False)])
def test_a_costly_case_without_a_mark_is_refused(
    most: str, refused: bool, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work of its children counts, and a mark excuses it."""
    plugin: Any = request.config.pluginmanager.get_plugin(str(ROOT / "tests" / "conftest.py"))
    monkeypatch.delenv("HAKOIRI_MOST_SECONDS", raising=False)
    if most:
        monkeypatch.setenv("HAKOIRI_MOST_SECONDS", most)
    for mark in ("", "ci_slow"):
        if mark:
            request.node.add_marker(mark)
        call = plugin.pytest_runtest_call(request.node)
        next(call)
        subprocess.run([sys.executable, "-S", "-c", _BURN], check=True)
        with pytest.raises(pytest.fail.Exception if refused and not mark else StopIteration):
            next(call)


def test_the_first_cases_are_usual() -> None:
    marked = usual(2, ("a", "b"), [(1, "x"), pytest.param(2, "y", id="two"), (3, "z")], ids=str).mark
    assert marked.args[0] == ("a", "b") and marked.kwargs == {"ids": str}
    assert [(each.values, [mark.name for mark in each.marks], each.id) for each in marked.args[1]] == [
        ((1, "x"), [], None),
        ((2, "y"), [], "two"),
        ((3, "z"), ["ci_slow"], None),
    ]
    assert [each.values for each in usual(1, "pair", [(1, 2), (3, 4)]).mark.args[1]] == [((1, 2),), ((3, 4),)]
