"""Bounded decompression of what others have compressed."""

import tracemalloc
import zlib

import numpy as np
import pytest
import zstandard

from hakoiri.errors import PayloadError
from hakoiri.storage.ledger.manifest import decompressed
from hakoiri.worker.hosts.wire import compressed, expanded
from tests.support.seeds import usual


@usual(1, "pack", [zstandard.compress, zlib.compress])
def test_no_more_is_made_than_is_allowed(pack: object) -> None:
    assert callable(pack)
    for raw in (b"", b"x", bytes(1_000)):
        assert decompressed(pack(raw), 1_000) == raw
    bomb = pack(bytes(200 << 20))
    tracemalloc.start()
    with pytest.raises(ValueError, match="above the limit of 1,000 bytes"):
        decompressed(bomb, 1_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20
    for wrong in (bomb[:50], b"\x28\xb5\x2f\xfd", bytes(10), b""):
        with pytest.raises(ValueError):
            decompressed(wrong)


def test_parts_of_a_message_have_the_lengths_that_it_states() -> None:
    data = np.arange(100, dtype=np.uint8)
    assert np.array_equal(expanded(compressed(data), np.array([60, 40])), data)
    with pytest.raises(PayloadError, match="above the limit of 99 bytes"):
        expanded(compressed(data), np.array([60, 39]))
