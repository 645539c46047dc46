"""Requests of any kind to the application on the web, hundreds at a time, made of its own description."""

import shutil
import traceback
from pathlib import Path
from typing import ClassVar

from campaigns.mayhem.asker import Asker
from campaigns.mayhem.speaking import speak
from campaigns.mayhem.trials import REQUESTS, WAITED, Measure, Outcome, Part, Trial
from hakoiri.web.settings import Settings
from tests.support.web import TOKEN, client_of, small_runs
from tests.support.web_requests import BUSY, METHODS, fuzz

_AT_ONCE, _MOST_SECONDS, _MEMORY = 500, 120.0, 100 << 20
#: The drawn requests: by such methods, or without methods anything that a connection may send.
_METHODS: dict[str, tuple[str, ...]] = {"all methods": METHODS, "GET and HEAD": ("get", "head"), "any bytes": ()}
_WAITED = -1


def _statuses(asked: tuple[Path, list[str], tuple[str, ...], int]) -> dict[int, float] | str:
    """Return the number of answers of each status of an application, or a text that says what was not answered.

    `_WAITED` has the seconds that another client waited.
    """
    data, names, methods, chance = asked
    try:
        if not methods:
            statuses, waited = speak(data, names, _AT_ONCE, chance)
            return dict(statuses) | {_WAITED: waited}
        with client_of(Settings(data, token=TOKEN, memory=_MEMORY)) as client:
            return dict(fuzz(client, names, _AT_ONCE, methods, _MEMORY, chance))
    except BaseException:
        return " ".join(traceback.format_exc().split())[-2_600:]


class Requests(Part):
    """A trial is 500 requests by some methods, or 500 connections that send anything."""

    name, usual, short = "requests", 60, (2,)
    headings = ("methods",)
    measures: ClassVar = {
        **REQUESTS,
        "answered": Measure("answered"),
        "refused": Measure("refused (4xx)"),
        "busy": Measure("put off (503, 507)"),
        **WAITED,
    }
    text = """\
The campaign sends requests for all paths, parameters, bodies and headers in the description of the HTTP interface. The
values are of any kind: names of runs, numbers beyond all bounds, paths of files, odd Unicode. Each must be answered,
or refused as a problem in the interface's own form. None may cause a mistake of the server (500) or end it. Long
questions, exports and maps start a limited number of processes: the others are put off.

Other connections send bytes drawn from a grammar of HTTP: request lines, headers, lengths, chunks and trailers, right
or wrong, several on one connection, spoiled, cut off, in pieces, far too long. They may leave no mistake in the
server's log, and a good client must be answered meanwhile."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self._data, self._names = place / "asked", list[str]()
        self._asker = Asker(_statuses, _MOST_SECONDS)

    def case_of(self, number: int) -> str:
        return list(_METHODS)[number % len(_METHODS)]

    def run(self, trial: Trial) -> Outcome:
        methods = self.case_of(trial.number)
        self._names = self._names or small_runs(self._data)
        data = self.place / trial.folder / "data"
        shutil.copytree(self._data, data)
        found = self._asker.ask((data, self._names, _METHODS[methods], trial.chance().getrandbits(32)))
        if isinstance(found, str):
            return Outcome(methods, faults=[found])
        waited = {"waited": round(found.pop(_WAITED), 3)} if _WAITED in found else {}
        counted: dict[str, float] = waited | {
            "requests": sum(found.values()),
            "answered": sum(count for status, count in found.items() if 200 <= status < 400),
            "refused": sum(count for status, count in found.items() if 400 <= status < 500),
            "busy": sum(found.get(status, 0) for status in BUSY),
        }
        return Outcome(methods, counted)

    def close(self) -> None:
        self._asker.close()
