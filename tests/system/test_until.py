"""Workers and hosts that end by themselves at a time: what they take before, and what becomes of their runs."""

import signal
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from rq.worker import WorkerStatus

from hakoiri.cli.runs.working import parse_until
from hakoiri.worker import rq_worker, supervisor
from tests.support.commands import FinishedRuns, Hakoiri
from tests.support.process_setup import stand_still_after_layer
from tests.support.servers import RedisServer, comes_out_right, started_host, started_workers

HOUR = 3600.0
NOW = datetime.now(UTC).astimezone()
SOON = NOW.replace(microsecond=0) + timedelta(minutes=90)
TILES = ("tiles", "-o", "rows=2", "-o", "columns=4")


@pytest.mark.parametrize(
    "text",
    [
        "+90m", "+1.5h", "+5400s", "+5400", f"{SOON:%s}", f"{SOON:%H:%M:%S}", f"{SOON:%Y-%m-%dT%H:%M:%S}",
        f"{SOON:%Y-%m-%d %H:%M:%S%z}", f"{SOON.astimezone(UTC):%Y%m%dT%H%M%SZ}",
    ],
    # Names that no second changes, or the processes of the tests would not have the same ones.
    ids=["minutes", "hours", "seconds", "number", "epoch", "clock", "local", "offset", "utc"],
)  # fmt: skip
def test_a_time_is_written_in_the_usual_ways(text: str) -> None:
    taken = (datetime.now(UTC) - NOW).total_seconds()
    assert parse_until(text) - time.monotonic() == pytest.approx(1.5 * HOUR, abs=taken + 10)


def test_a_time_of_day_that_has_passed_is_that_of_tomorrow() -> None:
    """The change to or from summer time may make that day an hour shorter or longer."""
    passed = datetime.now(UTC).astimezone() - timedelta(minutes=2)
    assert 22.9 * HOUR < parse_until(f"{passed:%H:%M}") - time.monotonic() < 25 * HOUR


@pytest.mark.parametrize(
    "text", ["", "90m", "90", "+", "+0", "+x", "24:00", "8", "8:00", "tomorrow", "1:2:3:4", "2030-13-01", "9" * 30]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is not a time; expected "):
        parse_until(text)


@pytest.mark.parametrize("text", ["1600000000", "2020-01-01", "2020-01-01T00:00:00+02:00"])
def test_a_time_that_has_passed_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match=f"{text[:10]}.* has passed"):
        parse_until(text)


@pytest.mark.parametrize("text", ["+999999999h", "9999-12-31", "99999999999"])
def test_a_time_beyond_all_timers_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is above the maximum of 1,000,000,000s"):
        parse_until(text)


def take_longer(seconds: float, ahead: float = 0.0) -> None:
    """Be a worker by whose clock each chunk takes so many seconds more than it does, and that is `ahead`."""
    perform, passed = rq_worker._perform, [ahead]

    def perform_slowly(*arguments: object, **named: object) -> None:
        perform(*arguments, **named)  # type: ignore[arg-type]
        passed[0] += seconds

    rq_worker._perform = perform_slowly
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + passed[0], sleep=time.sleep)
    vars(rq_worker)["time"] = clock


@pytest.mark.ci_slow
@pytest.mark.parametrize(("hours", "chunks"), [pytest.param(1, 1, marks=pytest.mark.slow), (2, 2)])
def test_a_worker_takes_no_chunk_that_would_end_too_late(
    hours: int, chunks: int, hakoiri: Hakoiri, redis_server: RedisServer, finished: FinishedRuns
) -> None:
    """Chunks take it 40 minutes: then the run goes on without it."""
    options, before = ("--until", f"+{hours}h"), partial(take_longer, 2400)
    with started_workers(hakoiri, redis_server.url, 1, before=before, options=options) as team:
        running = hakoiri.start(
            "run", "klotski", "--whole", "--farm", "0", "--chunk", "20000", "--json", "--redis", redis_server.url
        )
        ended = team.supervisor.finish()
        assert (ended.code, "starting another" in ended.stderr) == (0, False), ended
        comes_out_right(running, finished)
    places = hakoiri.ask("status", "last")["work_log"]["hosts"]
    assert sum(place["chunks"]["forest"] for place in places if place["workers"]) == chunks, places


@pytest.mark.ci_slow
@pytest.mark.parametrize("more", [("-n", "2"), ("--store", "STORE")])
def test_who_has_nothing_to_do_ends_in_time(
    more: tuple[str, ...], hakoiri: Hakoiri, redis_server: RedisServer, tmp_path: Path
) -> None:
    words = [str(tmp_path / word) if word == "STORE" else word for word in more]
    ended = hakoiri.start("worker", *words, "--redis", redis_server.url, "--until", "+6s", "--json").finish()
    assert ended.code == 0, ended
    assert ended.json["replaced"] == 0


def test_a_worker_that_waits_for_work_ends_when_it_is_too_late_for_any(
    hakoiri: Hakoiri, redis_server: RedisServer
) -> None:
    """By its own alarm: the clock of its supervisor is right."""
    before = partial(take_longer, 0, HOUR - 0.5)
    ended = hakoiri.start("worker", "--redis", redis_server.url, "--until", "+1h", before=before).finish()
    assert (ended.code, "starting another" in ended.stderr) == (0, False), ended


def test_a_worker_asked_to_stop_in_mid_chunk_leaves_no_key(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    worker = rq_worker.TaskWorker("busy", redis_server.client)
    worker.set_state(WorkerStatus.BUSY)
    worker.request_stop(signal.SIGTERM, None)
    assert worker._stop_requested
    assert redis_server.client.keys() == []


def be_late_with(file: Path) -> None:
    """Supervise by a clock that is an hour ahead once a file is there."""
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + HOUR * file.exists(), sleep=time.sleep)
    vars(supervisor)["time"] = clock


@pytest.mark.ci_slow
def test_a_host_ends_in_time_and_its_run_goes_on_when_it_is_back(
    hakoiri: Hakoiri, redis_server: RedisServer, tmp_path: Path
) -> None:
    store, late = tmp_path / "host", tmp_path / "late"
    until = ("--until", "+1h")
    with started_host(hakoiri, redis_server.url, store, *until, before=partial(be_late_with, late)) as host:
        running = hakoiri.start(
            "run", *TILES, "--redis", redis_server.url, "--hosts", "all", "--farm", "1", "--json",
            before=partial(stand_still_after_layer, 15),
        )  # fmt: skip
        running.stands_still()
        late.touch()
        ended = host.supervisor.finish()
        assert (ended.code, "workers stopped" in ended.stderr) == (0, True), ended
    running.send(signal.SIGCONT)
    running.wait_for("waiting for ")
    with started_host(hakoiri, redis_server.url, store):
        finished = running.finish()
        assert finished.code == 0, finished
        assert finished.json["digest"] == hakoiri.ask("run", *TILES)["digest"]
