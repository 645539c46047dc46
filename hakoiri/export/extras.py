"""Libraries that are not installed with Hakoiri itself, but with an extra of it."""

from collections.abc import Iterator
from contextlib import contextmanager

from hakoiri.coordinator.errors import UnanswerableError


@contextmanager
def needing(extra: str, what: str) -> Iterator[None]:
    """Turn a failed import into an `UnanswerableError` that names the extra with which the library is installed."""
    try:
        yield
    except ImportError as error:
        raise UnanswerableError(f"{what} needs {error.name}: pip install 'hakoiri[{extra}]'") from None
