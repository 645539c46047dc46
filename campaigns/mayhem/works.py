"""Disturbed runs: a small one of every kind, what it finds undisturbed, and which parts of it are durable."""

import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from campaigns.mayhem import own
from hakoiri.coordinator.graphs import bounding
from hakoiri.errors import StorageError
from hakoiri.guests.nakuron.board import random_board
from hakoiri.storage.layers.depths import Kept
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import State, unpack_record
from hakoiri.storage.names import CHUNKS, CLOSED, COMPONENTS, LABELS, LAYERS, PAIRS, ROWS, created_at, run_directories
from tests.support.commands import Hakoiri
from tests.support.process_setup import be_impatient, be_starved

#: Fields that may differ between two runs of one command: times, who did what, who committed what in how large pieces,
#: and the flow of moves, which is summed only where workers take part, and once had another name.
_VOLATILE = {"session", "seconds", "when", "microseconds", "stored_bytes", "index", "net_flow", "work", "flow"}
#: Where pieces of work lie that are computed once and for all: a layer, a chunk of a tree, a row.
_PIECES = (LAYERS, CHUNKS, ROWS)
#: What is found, as records and as bytes. How a tree is cut into chunks goes by how fast this machine is just then.
_RECORDS, _RAW = (LAYERS, ROWS, COMPONENTS), (PAIRS, LABELS)
#: Rows that a better play replaces.
_REPLACED = b"best/"
#: A user's puzzle.
OWN_FILE = Path(own.__file__)
_LX = Path(__file__).with_name("lx-8.gap")
_BOARD = "/".join(random_board(16, 1, 4).lines())
_DEAL = "C4 H3 S4 HA/S3 H4 S2 H2/D3 CA D2 C3/DA C2 D4 SA"


@dataclass(frozen=True)
class Work:
    """A run: the command that makes it, in which way it is chopped up, and the run that it belongs to, if any.

    `before` is what its process does first. `farmed` are options by which workers, or hosts, are given much of it.
    """

    name: str
    line: tuple[str, ...]
    ways: tuple[str, ...] = ()
    base: tuple[str, ...] = ()
    before: Callable[[], object] | None = None
    farmed: tuple[str, ...] = ()

    @property
    def begin(self) -> tuple[str, ...]:
        """The command line that makes it and drives it to its end."""
        return (*self.line, *self.ways)

    @property
    def queue(self) -> tuple[str, ...]:
        """The one that makes it and leaves it to a coordinator."""
        return ("enqueue", *self.begin[1:]) if self.line[0] == "run" else (*self.begin, "--queue")


def by_workers(work: Work, farms: bool = True) -> Work:
    """Return the run of which workers, or hosts, are given much, if it `farms`: options are given once."""
    if not farms:
        return work
    pairs = zip(work.ways[::2], work.ways[1::2], strict=True)
    kept = [word for option, value in pairs if option not in work.farmed for word in (option, value)]
    return replace(work, ways=(*kept, *work.farmed))


def _keep_often() -> None:
    """Have what is proved of eccentricities kept as often as in a run of hours."""
    vars(bounding).update(_KEEP_SECONDS=0.02, _KEEP_PART=1e9)


_SMALL = ("--chunk", "5")
#: Some chunks of each layer go to workers.
_FARMED = ("--chunk", "120", "--farm", "always")
#: 81,462 configurations, whose eccentricities are no part of the run itself.
_LARGE = ("run", "sliding", "--from", "ABBC/ABBC/EDDG/HFFJ/.II.")
_SUPERPUZZ = ("run", "superpuzz", "-o", "columns=4", "--from", _DEAL)
_TILES = ("run", "tiles", "-o", "rows=2", "-o", "columns=4")
_DEPTHS = (*_TILES, "--keep", "depths")
#: Beyond its memory, so that layers pass through the disk.
_SCARCE = ("--memory", "1MB", "--chunk", "500", "--farm", "1")
WORKS = {
    work.name: work
    for work in (
        Work("explore", ("run", "klotski"), _SMALL, farmed=_FARMED),
        Work("explore, mirrors merged", ("run", "klotski", "--merge-mirrors"), _SMALL, farmed=_FARMED),
        Work("explore, spilled", ("run", "klotski", "-o", "metric=finger"), _SCARCE, before=be_starved),
        Work("whole", ("run", "klotski", "--whole"), ("--chunk", "20"), farmed=("--chunk", "2000", "--farm", "1")),
        # The diameters of its large components would need more memory.
        Work("whole, spilled", ("run", "klotski", "--whole", "--diameters", "below=1000"),
             ("--memory", "1MB", "--chunk", "2000"), before=be_starved),
        Work("whole by layers", ("run", "sliding", "--from", "AAB/C../DEE", "--whole", "--by", "layers"),
             before=be_impatient, farmed=("--chunk", "20", "--farm", "always")),
        Work("directed", _SUPERPUZZ, _SMALL, farmed=_FARMED),
        Work("directed, spilled", _SUPERPUZZ, _SCARCE, before=be_impatient),
        Work("tree", ("run", "magic-star", "-o", "points=10"), before=be_impatient, farmed=("--farm", "1")),
        Work("study", ("study", "deals", "superpuzz", "--sizes", "4", "--deals", "80", "--seed", "3")),
        Work("boards", ("study", "boards", "--size", "4x3", "--pieces", "1x2:* 2x1:* 1x1:*", "--empty", "2..3")),
        Work("sizes", ("study", "sizes", "pancakes", "--sizes", "3..8")),
        Work("hunt", ("hunt", "gap", "-o", "ranks=6", "--legs", "10", "--seed", "2")),
        Work("optimise", ("optimise", "nakuron", "--from", _BOARD, "--width", "200", "--rounds", "5")),
        Work("hardest", ("hardest", "last"), _SMALL, ("run", "klotski"), farmed=_FARMED),
        Work("hardest, spilled", ("hardest", "last"), _SCARCE, ("run", "klotski"), before=be_starved),
        Work("eccentricities", ("diameter", "last", "--all"), base=_LARGE, before=_keep_often),
        Work("depths", _DEPTHS, before=be_impatient),
        Work("depths, spilled", _DEPTHS, _SCARCE, before=be_starved),
        Work("frontier", (*_TILES, "--keep", "frontier"), before=be_impatient),
        # Numbers with gaps, and moves that cannot be taken back: tables in files.
        Work("depths in a file", ("run", "hanoi", "-o", "pegs=5", "-o", "discs=6", "--keep", "depths"),
             before=be_impatient),
        Work("directed, in a file", ("run", str(_LX), "-o", "metric=given", "--keep", "frontier"), before=be_impatient),
        Work("own puzzle", ("run", f"{OWN_FILE}:Rings", "--whole"), ("--chunk", "7"),
             farmed=("--chunk", "7", "--farm", "1")),
    )
}  # fmt: skip
#: Those of which workers do chunks. Layers that pass through the disk are made by threads.
FOR_WORKERS = {name: work for name, work in WORKS.items() if work.ways != _SCARCE}


@dataclass(frozen=True)
class Standing:
    """A run's last commit: its state, and the pieces of work that are durable, as they lie there."""

    state: State = field(default_factory=State)
    pieces: dict[bytes, bytes] = field(default_factory=dict)

    def changed_by(self, later: "Standing") -> int:
        """Return the number of pieces that were made again or lost."""
        return sum(later.pieces.get(name) != value for name, value in self.pieces.items())


def standing(work: Work, data: Path) -> Standing:
    """Read beside whoever drives the run; empty before there is one."""
    with suppress(FileNotFoundError, StorageError), Ledger(the_run(work, data)) as ledger:
        names = [(database, name) for database in _PIECES for name in ledger.names(database)]
        kept = [(database, name) for database, name in names if not name.startswith(_REPLACED)]
        pieces = {base + b"/" + name: ledger.read(base, name) or b"" for base, name in kept}
        if "keep" in ledger.manifest.plan:
            # A last layer is listed from a table when the search ends, in other blocks.
            layers = {base + b"/" + name: base + name for base, name in kept if base == LAYERS}
            pieces |= {key: _kept_part(pieces[key], place) for key, place in layers.items()}
        return Standing(ledger.state, pieces)
    return Standing()


def _kept_part(raw: bytes, place: bytes) -> bytes:
    """Return what stays of the record of a layer whose keys are listed again."""
    fields = unpack_record(raw, "record", place)
    return repr({name: fields[name] for name in ("depth", "size", "digest", "goals", "represented")}).encode()


def findings(directory: Path) -> dict[str, Any]:
    """All that a run has found, without what the clock says."""
    with Ledger(directory) as ledger:
        found: dict[str, Any] = {"status": ledger.state.status, "digest": ledger.state.digest}
        if Kept.of(ledger).table:
            found |= {f"depths {name!r}": ledger.read(CLOSED, name) for name in ledger.names(CLOSED)}
        for database in _RECORDS:
            for name in ledger.names(database):
                fields = unpack_record(ledger.read(database, name) or b"", "record", database + name)
                # 0 is unknown, and an older version does not write it.
                left_out = _VOLATILE | ({"represented"} if not fields.get("represented") else set())
                found[f"{database!r} {name!r}"] = {key: fields[key] for key in fields.keys() - left_out}
        for database in _RAW:
            found |= {f"{database!r} {name!r}": ledger.read(database, name) for name in ledger.names(database)}
    return found


def differences(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return the first few values that are not as expected."""
    names = [name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)]
    return [f"{name}: {str(found.get(name))[:80]}, expected {str(expected.get(name))[:80]}" for name in names[:3]]


class Undisturbed:
    """Each work once without any disturbance, done when first asked for, in a folder of the campaign."""

    def __init__(self, place: Path) -> None:
        self._place = place / "undisturbed"
        self._known: dict[tuple[str, ...], tuple[dict[str, Any], float]] = {}

    def of(self, work: Work, *options: str) -> tuple[dict[str, Any], float]:
        """Return the result of a work and its seconds, with further options."""
        command = (*work.begin, *options)
        if command not in self._known:
            self._place.mkdir(parents=True, exist_ok=True)
            hakoiri = Hakoiri(Path(mkdtemp(dir=self._place)))
            # The first process of a puzzle compiles its kernels.
            for _ in range(2):
                shutil.rmtree(hakoiri.data, ignore_errors=True)
                self.prepare(work, hakoiri.data)
                began = time.monotonic()
                hakoiri(*command, before=work.before)
                seconds = time.monotonic() - began
            self._known[command] = findings(the_run(work, hakoiri.data)), seconds
        return self._known[command]

    def prepare(self, work: Work, data: Path) -> None:
        """Put the run that a work belongs to into an empty data directory."""
        if not work.base:
            return
        base = Hakoiri(self._place / f"base of {work.name}")
        if not base.data.exists():
            base(*work.base)
        shutil.copytree(base.data, data)


#: What parts of one campaign share.
undisturbed_in = cache(Undisturbed)


def the_run(work: Work, data: Path) -> Path:
    """Return the run of a work; raise `FileNotFoundError` before it exists."""
    made = sorted(run_directories(data), key=created_at)[len(work.base[:1]) :]
    if not made:
        raise FileNotFoundError(f"no run of {work.name}")
    return made[-1]
