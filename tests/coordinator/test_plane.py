"""The depots of a run: announced, left out, back again, and how much may lie in each."""

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pytest
import redis

from hakoiri.coordinator.executors import plane
from hakoiri.coordinator.executors.lying import Lying
from hakoiri.coordinator.executors.plane import Plane
from hakoiri.coordinator.session.tuning import DEFAULT
from hakoiri.puzzles.keys.layout import LAYOUTS
from hakoiri.storage.layers.blocks import code_keys
from hakoiri.worker.transport import depots
from hakoiri.worker.transport.connection import ALIVE_SECONDS, without_password
from hakoiri.worker.transport.depots import MAIN, depot_number
from hakoiri.worker.transport.lots import Origin
from tests.support.engine import PlainDepots, PlainRedis

LAYOUT = LAYOUTS["u32"]


class Switched(PlainRedis):
    """A data Redis that answers nothing while it is `down`."""

    down = False

    def info(self, section: str) -> dict[str, int]:
        """As it is."""
        self._lose()
        return super().info(section)

    def _lose(self) -> None:
        if self.down:
            raise redis.TimeoutError("no answer")


class Made:
    """A plane over two hosts, the clock that it goes by, and what it has said."""

    def __init__(self) -> None:
        self.main, self.hosts = PlainRedis(room=1_000), [Switched(room=4_000), Switched(room=2_000)]
        self.depots, self.said, self.now = PlainDepots(self.main, self.hosts), list[str](), 100.0
        self.plane = Plane(self.depots, DEFAULT, lambda call: call(), self.said.append)
        self.lying = Lying(self.plane, "here", DEFAULT)

    def monotonic(self) -> float:
        """The time."""
        return self.now

    def put(self, count: int) -> int:
        """Where the coordinator puts a piece of so many keys."""
        lot = self.lying.put(3, code_keys(3, LAYOUT.pack(list(range(0, 200 * count, 200)))))
        return int(lot.places[0, 0])


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    found = Made()
    monkeypatch.setattr(plane, "time", found)
    monkeypatch.setattr(depots, "_AWAY_SECONDS", 0.0)
    found.plane.announced(found.depots.urls)
    yield found


def test_half_of_what_each_has_free_is_used_and_the_one_redis_only_by_workers_without_another(made: Made) -> None:
    first, second = made.depots.numbers
    assert made.lying.share() == 3_000
    assert made.plane.shares == {first: 2_000, second: 1_000}
    made.plane.announced([*made.depots.urls, ""])
    assert made.lying.share() == 3_500
    assert made.plane.shares[MAIN] == 500


def test_what_the_coordinator_puts_there_goes_where_most_room_is(made: Made) -> None:
    first, second = made.depots.numbers
    made.lying.share()
    assert [made.put(400) for _ in range(4)] == [first, first, second, first]
    assert made.lying.filled >= sum(len(value) for host in made.hosts for value in host.held.values())


def test_the_fullest_says_how_full_it_is(made: Made) -> None:
    made.lying.share()
    made.plane.leave_out(made.depots.numbers[0], "a worker says so")
    made.put(400)
    bytes_there = sum(map(len, made.hosts[1].held.values()))
    made.now += 10
    made.plane.announced(made.depots.urls)
    assert made.lying.filled == pytest.approx(3 * bytes_there, abs=3), "2,000 and 1,000 may lie there"


def test_one_that_does_not_answer_is_left_out_for_longer_each_time(made: Made) -> None:
    first, second = made.depots.numbers
    made.lying.share()
    pieces = made.put(400)
    assert pieces == first
    for pause in (5, 20, 80):
        made.hosts[0].down = True
        assert made.plane.call(first, lambda depot: depot.get("x")) is None
        assert made.plane.left_out() == [first]
        assert made.put(10) == second
        made.hosts[0].down = False
        made.now += pause - 0.1
        made.plane.announced(made.depots.urls)
        assert made.plane.is_out(first)
        made.now += 0.2
        made.plane.announced(made.depots.urls)
        assert not made.plane.is_out(first)
    assert [text.split(";")[0] for text in made.said] == [
        "the data Redis at redis://host-0:1/0 does not answer (TimeoutError)",
        "the data Redis at redis://host-0:1/0 is used again",
    ] * 3


def test_what_lay_in_one_that_is_left_out_is_lost(made: Made) -> None:
    made.lying.share()
    coded = code_keys(3, LAYOUT.pack(list(range(0, 90_000, 200))))
    lots = [made.lying.put(3, coded) for _ in range(4)]
    where = [int(lot.places[0, 0]) for lot in lots]
    made.plane.leave_out(where[0], "a worker says so")
    there = [made.lying.has(lot.places).all() for lot in lots]
    assert there == [depot != where[0] for depot in where]
    assert made.lying.get(made.lying.names(lots[0])[0]) is None
    nothing, keys = np.empty(0, dtype=np.int64), LAYOUT.empty(0)
    answer: Any = [nothing, np.array([where[0]]), keys, nothing, keys, nothing, nothing]
    assert made.lying.answer(1, cast(Any, None), 3, answer) == (1, None), "what comes late lies there, too"


def test_the_one_redis_stands_in_for_one_that_is_left_out(made: Made) -> None:
    made.lying.share()
    _, second = made.depots.numbers
    made.plane.leave_out(made.depots.numbers[0], "a worker says so")
    assert made.plane.shares == {second: 1_000, MAIN: 500}


def test_nothing_is_put_into_one_that_was_left_out_before(made: Made) -> None:
    first, second = made.depots.numbers
    made.lying.share()
    assert made.put(10) == first
    made.plane.leave_out(first, "a worker says so")
    made.now += 3_600
    made.plane.announced(made.depots.urls)
    assert not made.plane.is_out(first)
    assert [made.put(10) for _ in range(3)] == [second] * 3


def test_one_whose_workers_are_silent_is_left_out(made: Made) -> None:
    _, second = made.depots.numbers
    made.now += ALIVE_SECONDS - 1
    made.plane.announced(made.depots.urls[:1])
    assert not made.plane.left_out()
    made.now += 2
    made.plane.announced(made.depots.urls[:1])
    assert made.plane.left_out() == [second]
    (text,) = made.said
    assert text.startswith("no worker lives that reaches the data Redis at redis://host-1:1/0; what lay there is made")


def test_none_is_left_out_because_the_one_redis_was_away(made: Made) -> None:
    made.now += 100
    made.plane.expect_all()
    made.plane.announced([])
    assert not made.plane.left_out()


def test_where_all_are_left_out_the_one_redis_serves(made: Made) -> None:
    for host in made.hosts:
        host.down = True
    assert made.lying.share() == 500
    assert made.put(10) == MAIN


def test_who_has_made_what_is_known_for_as_long_as_workers_have_it(made: Made) -> None:
    """Not for ever: a run may have millions of chunks."""
    coded, origins = code_keys(3, LAYOUT.pack([1, 2])), [Origin("here", stage, 5, 1) for stage in range(1, 10)]
    for origin in origins:
        made.lying.note_maker(origin, f"den-{origin.stage}")
    known = [made.lying.maker(origin.lot(MAIN, 0, 3, coded)) for origin in origins]
    assert known == [*[""] * 6, "den-7", "den-8", "den-9"]


@pytest.mark.parametrize("text", ["?", "redis://[", "redis://:secret@host:99999999/0", "\x1b[2J", "rediss://"])
def test_an_address_that_is_none_harms_nobody(text: Any, made: Made) -> None:
    """Whoever may write into Redis may write it there."""
    made.main.beats = {b"hakoiri:worker:odd": text.encode()}
    made.plane.announced([*made.depots.urls, text])
    assert made.plane.call(depot_number(text), lambda depot: depot.get("x")) is None
    assert made.lying.share() >= 3_000
    assert "secret" not in "".join(made.said) + without_password(text)
