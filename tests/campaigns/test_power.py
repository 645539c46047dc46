"""A simulated power cut leaves all that was synced, a random part of the rest, and never more."""

import struct
from pathlib import Path
from random import Random

from campaigns.mayhem.power import Disk, after_a_cut

ROOT, FILE, OTHER = 1, 2, 3


def record(kind: str, inode: int, parent: int = 0, offset: int = 0, name: str = "", data: bytes = b"") -> bytes:
    head = struct.pack("=cQQqII", kind.encode(), inode, parent, offset, len(name), len(data))
    return head + name.encode() + data


def test_what_was_synced_is_there_and_what_was_not_may_be(tmp_path: Path) -> None:
    log, old, new = tmp_path / "log", b"old" * 400, b"new" * 400
    log.write_bytes(
        record("C", FILE, ROOT, name="a")
        + record("W", FILE, data=old)
        + record("S", FILE)
        + record("S", ROOT)
        + record("M", 0, name="7.5")
        + record("W", FILE, data=new)
        + record("C", OTHER, ROOT, name="b")
        + record("R", OTHER, ROOT, ROOT, "b/c")
    )
    seen = set()
    for seed in range(60):
        place = tmp_path / str(seed)
        committed = after_a_cut(Disk(), log, ROOT, Random(seed), place)
        names = {entry.name for entry in place.iterdir()}
        content = (place / "a").read_bytes() if "a" in names else None
        assert committed in (0.0, 7.5)
        # What was not synced may be torn, at a sector.
        assert not committed or content in [new[:torn] + old[torn:] for torn in (0, 512, 1_024, 1_200)]
        assert not {"b", "c"} <= names
        seen.add((committed, content is not None and content[:3], "b" in names, "c" in names))
    assert {(7.5, b"old", False, False), (7.5, b"new", False, True), (7.5, b"old", True, False)} <= seen
