"""Requests of any kind to the application on the web, hundreds at a time, made of its own description."""

import shutil
import traceback
from pathlib import Path
from typing import ClassVar

from campaigns.mayhem.asker import Asker
from campaigns.mayhem.trials import Measure, Outcome, Part, Trial
from hakoiri.web.settings import Settings
from tests.support.application import client_of, small_runs
from tests.support.fuzzing import BUSY, METHODS, fuzz
from tests.system.web_servers import TOKEN

_AT_ONCE, _MOST_SECONDS = 500, 120.0
_METHODS = {"all methods": METHODS, "GET and HEAD": ("get", "head")}


def _statuses(asked: tuple[Path, list[str], tuple[str, ...], int]) -> dict[int, int] | str:
    """How many answers had which status, of an application over a data directory; or what was not answered."""
    data, names, methods, chance = asked
    try:
        with client_of(Settings(data, token=TOKEN)) as client:
            return dict(fuzz(client, names, _AT_ONCE, methods, chance=chance))
    except BaseException:
        return " ".join(traceback.format_exc().split())[-1_000:]


class Requests(Part):
    """A trial is 500 requests by some methods."""

    name, usual, short = "requests", 40, (0,)
    headings = ("methods",)
    measures: ClassVar = {
        "requests": Measure("requests"),
        "answered": Measure("answered"),
        "refused": Measure("refused (4xx)"),
        "busy": Measure("put off (503, 507)"),
    }
    text = """\
Requests to the application on the web, by all that its description tells of paths, parameters, bodies and headers, with
values of any kind: names of runs, numbers beyond all bounds, paths of files, odd Unicode. Each must be answered, or
refused as a problem in the interface's own form; none with a mistake of the server's (500), and none may end it. Long
questions, exports and maps start processes, of which there are only so many at a time: the others are put off."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self._data, self._names = place / "asked", list[str]()
        self._asker = Asker(_statuses, _MOST_SECONDS)

    def run(self, trial: Trial) -> Outcome:
        methods = list(_METHODS)[trial.number % len(_METHODS)]
        self._names = self._names or small_runs(self._data)
        data = self.place / trial.folder / "data"
        shutil.copytree(self._data, data)
        found = self._asker.ask((data, self._names, _METHODS[methods], trial.chance().getrandbits(32)))
        if isinstance(found, str):
            return Outcome(methods, faults=[found])
        counted: dict[str, float] = {
            "requests": sum(found.values()),
            "answered": sum(count for status, count in found.items() if 200 <= status < 400),
            "refused": sum(count for status, count in found.items() if 400 <= status < 500),
            "busy": sum(found.get(status, 0) for status in BUSY),
        }
        return Outcome(methods, counted)

    def close(self) -> None:
        self._asker.close()
