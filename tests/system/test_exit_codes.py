"""The exit code is 0 if and only if the run is complete: each kind of run, ended in each way."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import psutil
import pytest

from campaigns.mayhem.works import WORKS, Undisturbed, Work, standing
from hakoiri.storage.ledger.ledger import Ledger
from tests.support.commands import Hakoiri, Running, wait_until
from tests.support.disks import small_disk

_MOST_COMMITS, _LEAST_BYTES, _MOST_BYTES = 8, 100_000, 400_000
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: These are part of the default suite.
_USUAL = ("explore", "study")
_WORKS = [pytest.param(work, id=name, marks=[] if name in _USUAL else pytest.mark.slow) for name, work in WORKS.items()]


def stand_still_at(number: int, before: Callable[[], object] | None) -> None:
    """In a forked process: stop as SIGSTOP does after so many commits."""
    if before is not None:
        before()
    commit, left = Ledger.commit, [number]

    def counted(ledger: Ledger, *arguments: Any, **named: Any) -> None:
        commit(ledger, *arguments, **named)
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGSTOP)

    Ledger.commit = counted  # type: ignore[assignment, method-assign]


def agree(work: Work, hakoiri: Hakoiri, code: int) -> None:
    status = standing(work, hakoiri.data).state.status
    assert (code == 0) == (status == "complete"), f"exit code {code}, the run is {status}"


def stands_or_ended(running: Running) -> bool:
    with suppress(psutil.NoSuchProcess):
        return running.process.poll() is not None or psutil.Process(running.pid).status() == psutil.STATUS_STOPPED
    return True


@pytest.mark.parametrize("work", _WORKS)
@pytest.mark.parametrize("number", _SIGNALS, ids=lambda number: number.name)
def test_a_run_that_a_signal_stops_is_no_success(
    number: signal.Signals, work: Work, hakoiri: Hakoiri, tmp_path: Path
) -> None:
    Undisturbed(tmp_path / "base").prepare(work, hakoiri.data)
    commits = Random(f"{work.name} {number.name}").randint(1, _MOST_COMMITS)
    running = hakoiri.start(*work.begin, before=partial(stand_still_at, commits, work.before))
    wait_until(partial(stands_or_ended, running), what="the commit, or the end")
    running.send(number)
    running.send(signal.SIGCONT)
    ended = running.finish()
    if number == signal.SIGHUP and ended.code == -number:
        return  # It ended the process at once, perhaps between the last commit and the end: no success, either way.
    assert ended.code in (0, 128 + number), ended
    agree(work, hakoiri, ended.code)


@pytest.mark.parametrize("work", _WORKS)
@pytest.mark.parametrize("part", range(3))
def test_a_run_on_a_full_disk_is_no_success(part: int, work: Work, hakoiri: Hakoiri, tmp_path: Path) -> None:
    chance = Random(f"{work.name} {part}")
    with small_disk("mounted", tmp_path / "disk", 8_000_000) as disk:
        hakoiri.data = disk.place / "data"
        Undisturbed(tmp_path / "base").prepare(work, hakoiri.data)
        left = chance.randint(_LEAST_BYTES, _MOST_BYTES)
        room = os.statvfs(disk.place)
        with (disk.place / "ballast").open("wb") as ballast:
            os.posix_fallocate(ballast.fileno(), 0, room.f_bavail * room.f_frsize - left)
        ended = hakoiri(*work.begin, before=work.before, check=False)
        assert ended.code in (0, 1), ended
        agree(work, hakoiri, ended.code)
