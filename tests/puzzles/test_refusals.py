"""The texts, starts and options that puzzles refuse, each in one line with the words that refusals.json has for it.

An entry there is of a puzzle with some options `given`, and a `start`. Its `texts` are refused as configurations, its
`starts` and `options` when the puzzle is made.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hakoiri.errors import ConfigurationError, PuzzleError
from hakoiri.puzzles.contract import Puzzle
from tests.support.conformance.samples import Sample

SUITES = json.loads(Path(__file__).with_name("refusals.json").read_text(encoding="utf-8"))


@cache
def built(suite: int, mirrors: bool = False, start: str | None = None, **options: str) -> Puzzle:
    entry = SUITES[suite]
    case = Sample(entry["puzzle"]).case(mirrors)
    return case.build({**entry.get("given", {}), **options}, entry.get("start") if start is None else start)


def cases(kind: str) -> Iterator[Any]:
    for suite, entry in enumerate(SUITES):
        rows = entry.get(kind, ())
        for wrong, words in rows.items() if isinstance(rows, dict) else rows:
            for mirrors in entry.get("mirrors", [False]):
                name = f"{suite}-{entry['puzzle']}{'-mirrors' * mirrors}-{str(wrong)[:60]}"
                yield pytest.param(suite, mirrors, wrong, words, id=name)


def assert_said(refusal: pytest.ExceptionInfo[PuzzleError], words: list[str]) -> None:
    message = str(refusal.value)
    assert [part for part in words if part not in message] == [], message
    assert "\n" not in message


@pytest.mark.parametrize(("suite", "mirrors", "text", "words"), [*cases("texts")])
def test_what_is_no_configuration_is_refused(suite: int, mirrors: bool, text: str, words: list[str]) -> None:
    puzzle = built(suite, mirrors)
    with pytest.raises(ConfigurationError) as refusal:
        puzzle.parse(text)
    assert_said(refusal, words)


@pytest.mark.parametrize(("suite", "mirrors", "start", "words"), [*cases("starts")])
def test_what_is_no_start_is_refused(suite: int, mirrors: bool, start: str, words: list[str]) -> None:
    with pytest.raises(PuzzleError) as refusal:
        built(suite, mirrors, start)
    assert_said(refusal, words)


@pytest.mark.parametrize(("suite", "mirrors", "options", "words"), [*cases("options")])
def test_bad_options_are_refused(suite: int, mirrors: bool, options: dict[str, str], words: list[str]) -> None:
    with pytest.raises(PuzzleError) as refusal:
        built(suite, mirrors, **options)
    assert_said(refusal, words)
