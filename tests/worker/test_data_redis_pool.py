"""Data Redis, by the heartbeats of hosts: one that cannot be reached, or is another service, is lost at once."""

import socket
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest
import redis

from hakoiri.errors import PayloadError
from hakoiri.worker.transport.connection import HostBeat
from hakoiri.worker.transport.data_redis import MAIN, DataRedisPool, data_redis_number


class Told:
    """The Redis of the queue, in which a host reports its data Redis."""

    def __init__(self, url: str) -> None:
        self._beat = str(HostBeat("7-a", 2, url)).encode()

    def smembers(self, name: str) -> set[bytes]:
        return {b"den-1"}

    def mget(self, names: list[str]) -> list[bytes]:
        return [self._beat]


@pytest.mark.parametrize("url", ["?", "redis://[", "redis://:secret@host:99999999/0", "redis://:secret@127.0.0.1:1/0"])
def test_an_address_that_does_not_lead_to_a_data_redis_is_lost(url: str) -> None:
    data_pool = DataRedisPool(cast(redis.Redis, Told(url)))
    with pytest.raises(PayloadError) as raised, data_pool.reach(data_redis_number(url)) as connection:
        connection.ping()
    assert "secret" not in str(raised.value)


def test_another_service_at_its_address_is_lost_and_not_tried_again_at_once() -> None:
    def answer() -> None:
        with listener.accept()[0] as there:
            there.recv(1)
            there.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as server:
        server.submit(answer)
        url = f"redis://127.0.0.1:{listener.getsockname()[1]}/0"
        data_pool = DataRedisPool(cast(redis.Redis, Told(url)))
        for words in ("does not answer", "did not answer a moment ago"):
            with pytest.raises(PayloadError, match=words), data_pool.reach(data_redis_number(url)) as connection:
                connection.ping()


def test_a_data_redis_that_no_host_names_is_lost_and_that_of_the_queue_never() -> None:
    main = cast(redis.Redis, Told("redis://10.0.0.9:1/0"))
    data_pool = DataRedisPool(main)
    with pytest.raises(PayloadError, match="belongs to no live host"), data_pool.reach(5):
        pytest.fail("it was connected to")
    with data_pool.reach(MAIN) as connection:
        assert connection is main
