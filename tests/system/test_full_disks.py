"""File systems full to their last blocks: every question is answered or refused with a reason, and none dies."""

import pytest

from hakoiri.storage.names import LOCK_FILE, SCRATCH_PREFIX
from tests.support.commands import Hakoiri
from tests.support.disks import FILE_SYSTEMS, FILLER, fill_disk, free_on, mounted_disk

SIZE = 100_000_000
RUN = ("run", "tiles", "-o", "rows=2", "-o", "columns=3", "--name", "tiles")
#: Questions that need layers of their own on disk, and one that does not.
QUESTIONS = ("diameter last", "diameter last --all", "path last --from 123/45. --to .12/345", "layers last")


@pytest.mark.parametrize("kind", FILE_SYSTEMS)
def test_questions_on_a_full_disk(kind: str, hakoiri: Hakoiri) -> None:
    """LMDB maps its lock file: to touch a block of it that the disk has not is SIGBUS."""
    hakoiri.data.mkdir()
    with mounted_disk(kind, hakoiri.data, SIZE) as refused:
        if refused:
            pytest.skip(f"no {kind} can be mounted here: {refused}")
        run = hakoiri.data / hakoiri.ask(*RUN)["run"]
        for left in (8192, 4096, 0):
            fill_disk(hakoiri.data, left)
            assert free_on(hakoiri.data) <= left
            for question in QUESTIONS:
                asked = hakoiri(*question.split(), "--json", check=False)
                if question == "layers last":
                    assert asked.code == 0, asked
                else:
                    assert (asked.code, asked.stdout) == (1, ""), asked
                    assert "is too full for the layers that this question needs" in asked.error
                assert not list(run.glob(f"{SCRATCH_PREFIX}*"))
        (run / LOCK_FILE).unlink()
        fill_disk(hakoiri.data, 0)
        assert "is full" in hakoiri("cancel", "last", check=False).error
        (hakoiri.data / FILLER).unlink()
        assert hakoiri.json("diameter", "last")["diameter"] == 21
