"""Events of a run: each layer once, every state, and on from the last id."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.ledger.manifest import Progress
from hakoiri.web.routes.runs import EventStream
from hakoiri.web.runs.opened import OpenRuns
from tests.hakoiri.web.conftest import Served


class Event(NamedTuple):
    kind: str
    number: str
    row: dict[str, Any]


def told(stream: EventStream) -> list[Event]:
    """Return the events that a look at the run gives."""
    events = []
    for text in stream.look()[0]:
        fields = dict(line.split(": ", 1) for line in text.splitlines() if line)
        events.append(Event(fields["event"], fields.get("id", ""), json.loads(fields["data"])))
    return events


class Watching(SilentObserver):
    """Looks at a run as it goes."""

    def __init__(self, stream: EventStream) -> None:
        self.stream, self.events = stream, list[Event]()

    def progress(self, progress: Progress) -> None:
        self.events += told(self.stream)


def test_a_run_as_it_goes(tmp_path: Path) -> None:
    directory = make_run(tmp_path, PuzzleSpec("tiles", {"rows": "2", "columns": "3"}), None, {}, Resources())
    watching = Watching(EventStream(OpenRuns(tmp_path, Resources()), directory, ""))
    drive(directory, Resources(workers=1), Control(), watching)
    events = watching.events + told(watching.stream)
    assert [event.row["status"] for event in events if event.kind == "state"][-1] == "complete"
    layers = [event.row["depth"] for event in events if event.kind == "layer"]
    assert layers == list(range(22))
    assert told(watching.stream) == []


def test_on_from_the_last_id(served: Served) -> None:
    opened = served.client.app.state.runs  # type: ignore[attr-defined]
    events = told(EventStream(opened, served.data / served.small, ""))
    assert [event.kind for event in events] == ["layer"] * 22 + ["state"]
    assert told(EventStream(opened, served.data / served.small, events[7].number)) == events[8:]
    assert told(EventStream(opened, served.data / served.small, events[-1].number)) == []
    for nonsense in ("x", "-", "9999999-1-complete", "-5", "1" * 150):
        assert told(EventStream(opened, served.data / served.small, nonsense))[-1].row["status"] == "complete"
