"""What an error says, and the next steps that it carries."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hakoiri.puzzles.errors import HakoiriError, Step


@contextmanager
def refused(kind: type[HakoiriError], words: str, *steps: Step) -> Iterator[None]:
    """The block raises an error that says `words` (a pattern) and offers `steps`."""
    with pytest.raises(kind, match=words) as caught:
        yield
    assert caught.value.steps == steps
