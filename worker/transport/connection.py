"""Connections to Redis, whose errors become Hakoiri's own. A password is never printed."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import redis
from redis.exceptions import AuthenticationError, AuthorizationError, NoPermissionError, RedisError, ResponseError

from puzzles.errors import Step
from worker.errors import RedisRefusedError, RedisUnavailableError, WorkerError

_CONNECT_SECONDS, _ANSWER_SECONDS = 5.0, 15.0


def connect(url: str) -> redis.Redis:
    """A connection that has answered a ping. Raises `RedisUnavailableError` or `RedisRefusedError`."""
    with redis_errors(url):
        try:
            connection = redis.Redis.from_url(
                url, socket_connect_timeout=_CONNECT_SECONDS, socket_timeout=_ANSWER_SECONDS
            )
        except ValueError as error:
            raise RedisUnavailableError(
                f"{without_password(url)!r} is no Redis URL ({error}); write redis://HOST:PORT/0"
            ) from None
        connection.ping()
        return connection


def get_bytes(connection: redis.Redis, key: str, delete: bool = False) -> bytes | None:
    """The value of a string key, or ``None``; with `delete` the key is gone afterwards."""
    value = connection.getdel(key) if delete else connection.get(key)
    return value.encode() if isinstance(value, str) else value


@contextmanager
def redis_errors(url: str) -> Iterator[None]:
    """Redis's errors as Hakoiri's, naming the server and the next step."""
    where = without_password(url)
    try:
        yield
    except (AuthenticationError, AuthorizationError, NoPermissionError) as error:
        raise refused(where) from error
    except (redis.ConnectionError, redis.TimeoutError) as error:
        raise RedisUnavailableError(
            f"no Redis answers at {where}; start one with 'redis-server'", Step("change", "redis")
        ) from error
    except ResponseError as error:
        if str(error).startswith(("NOAUTH", "WRONGPASS", "ERR AUTH")):
            raise refused(where) from error
        raise WorkerError(f"Redis at {where} refused a command: {error}") from error
    except RedisError as error:
        raise WorkerError(f"Redis at {where}: {error}") from error


def refused(where: str) -> RedisRefusedError:
    """The error for a wrong or missing password."""
    return RedisRefusedError(
        f"Redis at {where} refuses the user or password; write them into HAKOIRI_REDIS as redis://:PASSWORD@HOST:PORT/0"
    )


def without_password(url: str) -> str:
    """Scheme, host, port and database only."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
