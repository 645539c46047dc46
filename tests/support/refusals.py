"""The text and the hints of errors."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hakoiri.errors import HakoiriError, Hint


@contextmanager
def refused(kind: type[HakoiriError], words: str, *hints: Hint) -> Iterator[None]:
    """The block raises an error that says `words` (a pattern) and offers `hints`."""
    with pytest.raises(kind, match=words) as caught:
        yield
    assert caught.value.hints == hints
