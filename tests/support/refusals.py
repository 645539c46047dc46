"""The text and the hints of errors."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import pytest

from hakoiri.errors import HakoiriError, Hint, PuzzleError
from hakoiri.puzzles.contract import Puzzle
from tests.support.plain_search import refusal


@contextmanager
def refused(kind: type[HakoiriError], words: str, *hints: Hint) -> Iterator[None]:
    """The block raises an error that says `words` (a pattern) and offers `hints`."""
    with pytest.raises(kind, match=words) as caught:
        yield
    assert caught.value.hints == hints


def each_text_refused(build: Callable[[], Puzzle], bad: Mapping[str, Sequence[str]]) -> Callable[[str], None]:
    """Return the test that the puzzle refuses each text in one line, with its words."""

    @pytest.mark.parametrize("text", bad)
    def refuses(text: str) -> None:
        message = refusal(build(), text)
        assert [part for part in bad[text] if part not in message] == [], message

    return refuses


def each_option_refused(
    kind: Callable[[dict[str, str]], Puzzle], bad: Sequence[tuple[dict[str, str], list[str]]]
) -> Callable[[dict[str, str], list[str]], None]:
    """Return the test that a puzzle refuses each of these options with its words."""

    @pytest.mark.parametrize(("options", "parts"), bad)
    def refuses(options: dict[str, str], parts: list[str]) -> None:
        with pytest.raises(PuzzleError) as raised:
            kind(options)
        assert [part for part in parts if part not in str(raised.value)] == []

    return refuses
