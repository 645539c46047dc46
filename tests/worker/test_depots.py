"""Data Redis, as hosts say where they are: what cannot be one is lost, and harms nobody."""

from typing import Any, cast

import pytest
import redis

from hakoiri.worker.errors import DepotLostError
from hakoiri.worker.transport.connection import HostBeat
from hakoiri.worker.transport.depots import MAIN, Depots, depot_number


class Told:
    """The Redis of the queue, in which one host says what it likes."""

    def __init__(self, url: str) -> None:
        self._beat = str(HostBeat("7-a", 2, url)).encode()

    def smembers(self, name: str) -> set[bytes]:
        """The hosts."""
        return {b"odd"}

    def mget(self, names: list[str]) -> list[bytes]:
        """What they say."""
        return [self._beat]

    def client_list(self) -> list[dict[str, Any]]:
        """Nobody shows where it is."""
        return []


@pytest.mark.parametrize(
    "url",
    ["?", "redis://[", "redis://:secret@host:99999999/0", "\x1b[2J", "rediss://", "redis://:secret@10.0.0.9:1/0"],
)
def test_an_address_that_is_none_or_not_shown_harms_nobody(url: str) -> None:
    """Whoever may write into Redis may write it there."""
    depots = Depots(cast(redis.Redis, Told(url)))
    with pytest.raises(DepotLostError) as raised, depots.reach(depot_number(url)):
        pytest.fail("it was connected to")
    assert "secret" not in str(raised.value)


def test_a_data_redis_that_no_host_names_is_lost_and_that_of_the_queue_never() -> None:
    main = cast(redis.Redis, Told("redis://10.0.0.9:1/0"))
    depots = Depots(main)
    with pytest.raises(DepotLostError, match="no host lives at the data Redis"), depots.reach(5):
        pytest.fail("it was connected to")
    with depots.reach(MAIN) as connection:
        assert connection is main
