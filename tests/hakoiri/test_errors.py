"""The table of outcomes, over all errors there are; no error hints first or only at what destroys."""

import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from hakoiri.coordinator.errors import StoppedError
from hakoiri.coordinator.runs.archive import restore_run
from hakoiri.errors import DESTROYING, OUTCOMES, HakoiriError, Hint, NameTakenError, TargetError, outcome_of
from hakoiri.web.problems import refused
from tests.support.commands import ROOT
from tests.support.refusals import refused as raised

RUN = "3f9a2c-klotski"
_DEFINED = re.compile(r"^class \w+Error\(", re.MULTILINE)


def kinds() -> list[type[HakoiriError]]:
    """Return the class of every error of the product."""
    for path in sorted((ROOT / "hakoiri").rglob("*.py")):
        if _DEFINED.search(path.read_text(encoding="utf-8")):
            import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return sorted(set(_below(HakoiriError)), key=lambda kind: kind.__name__)


def _below(kind: type[HakoiriError]) -> Iterator[type[HakoiriError]]:
    if kind.__module__.startswith("hakoiri."):
        yield kind
    for each in kind.__subclasses__():
        yield from _below(each)


def made(kind: type[HakoiriError], *hints: Hint) -> HakoiriError:
    """Return an error of this class with these hints, however its own constructor takes them."""
    plain = type(kind.__name__, (kind,), {"__init__": HakoiriError.__init__})
    error: HakoiriError = plain("it is so", *hints)
    return error


KINDS = kinds()


def test_the_table_names_errors_that_there_are() -> None:
    assert len(KINDS) > 30
    assert {kind.__name__ for kind in KINDS} >= OUTCOMES.keys()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_no_hint_that_destroys_is_first_or_alone(kind: type[HakoiriError]) -> None:
    for do in DESTROYING:
        instead, other = outcome_of(kind).instead, Hint("lower", "cap")
        assert made(kind, Hint(do, RUN)).hints == (Hint(instead, RUN), Hint(do, RUN))
        assert made(kind, Hint(do, RUN), other).hints == (other, Hint(do, RUN))
        changed = made(kind)
        changed.hints = (Hint(do, RUN),)
        assert changed.hints[0].do not in DESTROYING
    assert made(kind).hints == ()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_request_ends_as_the_table_says(kind: type[HakoiriError]) -> None:
    response = refused(made(kind, Hint("wait", RUN), Hint("delete", RUN)))
    problem = json.loads(bytes(response.body))
    assert response.status_code == problem["status"] == outcome_of(kind).status
    assert [hint["do"] for hint in problem["hints"]] == ["wait", "delete"]
    assert problem["hints"][0]["href"] == f"/api/runs/{RUN}/events"


def test_errors_that_make_their_own_text() -> None:
    assert NameTakenError(RUN).hints == (Hint("change", "name"), Hint("status", RUN))
    assert StoppedError(RUN, "failed", "why", Hint("delete", RUN)).hints[0] == Hint("status", RUN)


def test_an_error_of_a_target_names_the_target(tmp_path: Path) -> None:
    (shelf := tmp_path / "shelf").write_text("no folder")
    with raised(TargetError, f"^{shelf} cannot be used: Not a directory; choose another place$"):
        restore_run(tmp_path / "data", RUN, str(shelf))
