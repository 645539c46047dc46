"""Archives and runs made by others: seeded changes of valid ones, and a snapshot of the files around them."""

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import numpy as np

from hakoiri.errors import HakoiriError
from hakoiri.storage import names
from hakoiri.storage.engine.environment import Environment
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.layers.table_file import HEADER, TableShape, checksum
from hakoiri.storage.ledger.manifest import seal

#: Numbers that a record may have in the place of another.
NUMBERS = (-(1 << 63), -2, -1, 0, 1, 2, 3, 255, (1 << 31) - 1, 1 << 32, (1 << 63) - 1, (1 << 64) - 1)
TEXTS = ("", ".", "..", "/", "a\0b", "x" * 70_000, "\x1b[2J", "../../home", "é", "last")
#: Names in a run's directory, in a data directory, and in an archive, from the table of names itself.
ALL_NAMES = sorted(
    value + "1" * name.endswith("_PREFIX")
    for name, value in vars(names).items()
    if name.endswith(("_FILE", "_FOLDER", "_PREFIX"))
)
#: What nothing of others may take without a word: seconds of the processor, and bytes beyond those it begins with.
SECONDS, BYTES = 10, 200 << 20


def resident(what: str = "VmRSS") -> int:
    """Return the bytes that this process has in memory, or for ``VmHWM`` has had at most; 0 where no file says it."""
    file = Path("/proc/self/status")
    found = re.search(rf"{what}:\s+(\d+) kB", file.read_text("ascii") if file.exists() else "")
    return int(found[1]) << 10 if found is not None else 0


@contextmanager
def bounded(what: object) -> Iterator[None]:
    """Fail if the block takes more than `SECONDS` or `BYTES`, or waits for ten times as long."""

    def late(*_: object) -> None:
        raise AssertionError(f"{what}: no answer within {SECONDS} s")

    clocks = {signal.SIGALRM: (signal.ITIMER_REAL, 10 * SECONDS), signal.SIGPROF: (signal.ITIMER_PROF, SECONDS)}
    before = {number: signal.signal(number, late) for number in clocks}
    # The peak begins anew: https://docs.kernel.org/filesystems/proc.html
    if (file := Path("/proc/self/clear_refs")).exists():
        file.write_text("5", "ascii")
    peak = resident("VmHWM")
    try:
        for clock in clocks.values():
            signal.setitimer(*clock)
        yield
    finally:
        for number, (which, _) in clocks.items():
            signal.setitimer(which, 0)
            signal.signal(number, before[number])
    assert (more := resident("VmHWM") - peak) < BYTES, f"{what}: {more:,} bytes"


def snapshot(place: Path, *but: Path) -> dict[str, tuple[Any, ...]]:
    """Everything below a folder: names, kinds, contents and times of change; without what is below `but`."""
    found: dict[str, tuple[Any, ...]] = {}
    for path in sorted(place.rglob("*")):
        if not any(path == each or each in path.parents for each in but):
            stat = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() and stat.st_size < 1 << 20 else b""
            found[str(path)] = stat.st_mode, stat.st_mtime_ns * path.is_file(), content
    return found


#: What a name may be instead of what it should be, beside a file of the user's own.
STRANGE: dict[str, Callable[[Path, Path], object]] = {
    "link": lambda name, target: name.symlink_to(target),
    "hard link": lambda name, target: name.hardlink_to(target),
    "link to nothing": lambda name, target: name.symlink_to(target.with_name("nothing")),
    "link to a folder": lambda name, target: name.symlink_to(target.parent),
    "pipe": lambda name, _: os.mkfifo(name),
    "folder": lambda name, _: name.mkdir(),
}


def changed_value(value: Any, chance: Random) -> Any:
    """A value of JSON or msgpack with one part changed."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        name = chance.choice(list(value))
        if chance.random() < 0.1:
            return {each: value[each] for each in value if each != name}
        if chance.random() < 0.1:
            return value | {chance.choice(TEXTS): value[name]}
        return value | {name: changed_value(value[name], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        place = chance.randrange(len(value))
        return [*value[:place], changed_value(value[place], chance), *value[place + 1 :]]
    return chance.choice([*NUMBERS, *TEXTS, 1.5, float("nan"), None, True, [], {}, [[]], b"\0"])


def forge_index(file: Path, chance: Random) -> None:
    """Change an archive's index: a part of it, its names, or its bytes."""
    with file.open("rb") as opened:
        # It may be a hole already.
        raw = opened.read(1 << 20)
    if not raw:
        return
    index: Any = None
    with suppress(ValueError):  # Its bytes may be damaged already.
        index = json.loads(raw)
    if index is None or chance.random() < 0.2:
        place = chance.randrange(len(raw))
        file.write_bytes(raw[:place] + chance.randbytes(chance.randrange(4)) + raw[place + chance.randrange(4) :])
        return
    if chance.random() < 0.4 and isinstance(index, dict) and isinstance(index.get("files"), dict):
        run = file.parent.name
        name = chance.choice([*ALL_NAMES, "spill/3-1", "x.py", "../x", "./created", "a/../../b", "", *TEXTS[:5]])
        index["files"][f"{run}/{name}"] = [chance.choice(NUMBERS), "0" * 64]
    else:
        index = changed_value(index, chance)
    file.write_text(json.dumps(index, default=repr), "utf-8")


def forge_tree(place: Path, target: Path, chance: Random) -> None:
    """Put something strange in the place of a file or a folder, or beside it."""
    files = [path for path in place.rglob("*") if not path.is_symlink()]
    path = chance.choice(files)
    if chance.random() < 0.3:
        path = path.parent / chance.choice(ALL_NAMES)
    elif path.is_file() and chance.random() < 0.5:
        os.truncate(path, chance.choice([0, 1, 4096, 200 << 30]))
        return
    if path.is_dir() and not path.is_symlink():
        path.rename(target.parent / f"moved-{chance.randrange(1 << 30)}")
    elif path.exists():
        path.unlink()
    chance.choice(list(STRANGE.values()))(path, target)


def forge_record(run: Path, chance: Random) -> str:
    """Change one record of a run, or one block, with a right checksum; return which."""
    environment = Environment(run, writable=True)
    try:
        database = chance.choice([names.META, names.META, names.LAYERS, names.CLOSED, names.BLOCKS])
        known = environment.names(database)
        if not known:
            return "nothing"
        name = chance.choice(known)
        raw = environment.get(database, name) or b""
        if database in (names.META, names.LAYERS):
            fields = changed_value(msgspec.msgpack.decode(raw[4:]), chance)
            value = seal(msgspec.msgpack.encode(fields), database + name)
        else:
            body = bytearray(raw[4:])
            for _ in range(chance.randrange(1, 4)):
                body[chance.randrange(len(body))] = chance.choice([0, 1, 127, 128, 255])
            value = seal(bytes(body), database + name)
        renamed = chance.choice([name, name, name, chance.randbytes(len(name))])
        environment.write([(database, renamed, value)])
        return f"{database.decode()} {name!r}"
    finally:
        environment.close()


def forge_table(run: Path, chance: Random) -> str:
    """Change the table's file of a run: a header or bitmaps, with right checksums, or its length; return what."""
    field = chance.choice(HEADER.names or ())
    with suppress(HakoiriError), RunStore(run) as store:
        if (shape := TableShape.of(store)) is None or not (run / names.TABLE_FILE).is_file():
            return "no table"
        with (run / names.TABLE_FILE).open("r+b") as file:
            begin = chance.randrange(os.fstat(file.fileno()).st_size // shape.slot_bytes) * shape.slot_bytes
            head = np.frombuffer(os.pread(file.fileno(), 4 + HEADER.itemsize, begin), HEADER, offset=4).copy()
            if chance.random() < 0.7:
                head[field] = np.array(chance.choice(NUMBERS) % 2**64).astype(np.uint64).astype(head[field].dtype)
            if chance.random() < 0.5:
                page = 4096 + begin
                raw = bytearray(os.pread(file.fileno(), shape.slot_bytes - 4096, page))
                for _ in range(chance.randrange(1, 4)):
                    raw[chance.randrange(len(raw))] = chance.choice([0, 1, 255])
                units = np.frombuffer(raw, np.uint64).reshape(shape.units, shape.bitmaps, -1)
                head["sums"][0, : shape.units] = [checksum(unit) for unit in units]
                os.pwrite(file.fileno(), raw, page)
            os.pwrite(file.fileno(), seal(head.tobytes()), chance.choice([begin, begin, begin + shape.slot_bytes]))
            if chance.random() < 0.2:
                file.truncate(chance.choice([0, 1, begin, 10 << 20, 200 << 30]))
    return f"table: {field}"
