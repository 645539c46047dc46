"""Definitions of other people's collections: the layers that a program apart counted, or a refusal in one line."""

import os

import pytest

from tests.support.definitions_corpus import EXPECTED, FOLDER, cut, digest_of, tried

pytestmark = [
    pytest.mark.ci_slow,
    pytest.mark.skipif(
        not os.environ.get("HAKOIRI_DEFINITIONS"),
        reason="HAKOIRI_DEFINITIONS names no folder with the files of definitions_corpus.json",
    ),
]
_MOST_SECONDS, _MOST_MEGABYTES = 2, 300


@pytest.mark.parametrize("file", EXPECTED)
def test_a_file_has_the_layers_counted_apart(file: str) -> None:
    expected = EXPECTED[file]
    if not (FOLDER / file).exists():
        pytest.skip(f"{FOLDER} has no {file}")
    assert digest_of(file) == expected["sha256"]
    for metric in [each for each in ("half", "quarter") if each in expected]:
        found = tried(file, metric)
        if "refused" in expected:
            assert found.get("error") == expected["refused"]
            assert "\n" not in found["error"]
            assert found["seconds"] <= _MOST_SECONDS
            assert found["megabytes"] <= _MOST_MEGABYTES
        else:
            assert found.get("layers") == cut(expected[metric], 30_000), found
            assert found["moves"] == expected["moves"]
