"""A run as a self-contained page to play: its board as the service shows it, and a table in place of the service."""

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Iterable
from contextlib import suppress
from os.path import normpath
from pathlib import Path
from typing import Any

import numpy as np

from hakoiri.coordinator.errors import RunError, UnanswerableError
from hakoiri.coordinator.session.session import Control, Observer, SilentObserver
from hakoiri.keys.layout import Key, ints
from hakoiri.keys.order import lower_bounds
from hakoiri.render.films import page, script
from hakoiri.render.images import text, titled
from hakoiri.rows.positions import SMALL, PositionTable, moves_row, statistics_row, table_of
from hakoiri.run.components import start_component
from hakoiri.run.goals import require_goals
from hakoiri.run.opened import OpenRun
from hakoiri.storage.engine.files import replaced
from hakoiri.storage.ledger.manifest import Progress

ENDING = ".html"
_STATIC = Path(__file__).parents[1] / "web" / "static"
_STYLES = ("tokens", "page", "parts", "board")
#: The module that shows the board of a run, and the one that takes the place of requests to the service.
_PAGE, _API, _HANDED = "pages/play.js", "lib/api.js", "play/handed.js"
_IMPORT = re.compile(r'(?:from |import\()"(\.[^"]+)"')
#: Configurations between two looks at the control.
_BATCH = 500
_BODY = """\
<style>@STYLE@
main > h1 { font-size: 1.25rem; margin: 1rem 0; overflow-wrap: anywhere; }</style>
<main id="main"><h1>@TITLE@</h1><div id="board"><noscript>This page needs scripts.</noscript></div></main>
<div id="said" class="unseen" role="status" aria-live="polite"></div>
<script type="text/plain" id="table">@TABLE@</script>
<script type="importmap">@MODULES@</script>
<script type="module">
import {run} from "lib/api.js";
import {show} from "pages/play.js";
import {parsed} from "router.js";
show(document.getElementById("board"), {run, query: parsed(location.hash).query});
</script>
"""


def save_player(run: OpenRun, target: Path, control: Control | None = None, observer: Observer | None = None) -> int:
    """Write the page of a finished run of up to 200,000 configurations; return the number of those in it.

    It holds the component of the start if the run is a census. Raises `UnanswerableError` for other runs, `StopRun`
    by `control`; `target` is then unchanged.
    """
    table = _known(run)
    packed = _PackedTable(run, table)
    for done in range(0, len(table.keys), _BATCH):
        (control or Control()).check()
        (observer or SilentObserver()).progress(Progress(done, len(table.keys), headline="drawing configurations"))
        packed.add(done, ints(table.keys[done : done + _BATCH]))
    filled = {
        "TITLE": text(titled(run.puzzle)), "TABLE": packed.text(), "MODULES": script({"imports": modules()}),
        "STYLE": "\n".join((_STATIC / "style" / f"{name}.css").read_text("utf-8") for name in _STYLES),
    }  # fmt: skip
    with replaced(target) as part:
        part.write_text(page(_BODY, filled), "utf-8")
    return len(table.keys)


def _known(run: OpenRun) -> PositionTable:
    """Return depths and goal distances of the configurations to be played."""
    require_goals(run)
    run.require_components()
    if (table := table_of(run)) is None:
        size = sum(run.layer_sizes)
        raise UnanswerableError(f"run {run.name} has {size:,} configurations; a page to play holds at most {SMALL:,}")
    if not run.is_census:
        return table
    mine = table.components == start_component(run)
    return PositionTable(*(column[mine] for column in table))


def modules() -> dict[str, str]:
    """Return the module of the page, and all that it imports, as addresses with the source in them, by name."""
    found: dict[str, str] = {}
    waiting = [_PAGE]
    while waiting:
        if (name := waiting.pop()) not in found:
            source = (_STATIC / "js" / (_HANDED if name == _API else name)).read_text("utf-8")
            used = {path: normpath(Path(name).parent / path) for path in _IMPORT.findall(source)}
            for path, module in used.items():
                source = source.replace(f'"{path}"', f'"{module}"')
            found[name] = f"data:text/javascript;base64,{b64encode(source.encode()).decode('ascii')}"
            waiting += used.values()
    return found


def _number(known: dict[str, int], value: object) -> int:
    """Return the number of a value among the different ones, in the order in which they came."""
    return known.setdefault(json.dumps(value, separators=(",", ":")), len(known))


class _PackedTable:
    """Texts, pictures, distances and moves of configurations, as `play/handed.js` reads them.

    Parts, moves, and what else a picture has, are stored once each and named by numbers.
    """

    def __init__(self, run: OpenRun, table: PositionTable) -> None:
        self._run, self._table = run, table
        self._texts: list[str] = []
        self._parts, self._frames, self._moves = dict[str, int](), dict[str, int](), dict[str, int]()
        self._numbers: dict[str, list[int]] = {
            name: [] for name in ("frame", "part", "parts_begin", "move", "moves_begin", "target")
        }

    def add(self, place: int, keys: list[Key]) -> None:
        """Add the next configurations, the first of which is at `place`."""
        numbers = self._numbers
        for here, key in enumerate(keys, place):
            row = moves_row(self._run.puzzle, key)
            picture, moves = row["picture"], row["moves"]
            self._texts.append(row["configuration"])
            numbers["parts_begin"].append(len(numbers["part"]))
            numbers["moves_begin"].append(len(numbers["move"]))
            numbers["part"] += [_number(self._parts, part) for part in picture.pop("parts")]
            numbers["frame"].append(_number(self._frames, picture))
            self._add_moves(here, key, moves)

    def _add_moves(self, here: int, key: Key, moves: list[dict[str, Any]]) -> None:
        """Add the moves of a configuration, those that lead nearest to a goal first."""
        targets = [int(move.pop("key"), 16) for move in moves]
        places = lower_bounds(self._table.keys, self._run.puzzle.keys(targets))
        far = len(self._table.keys)
        goals = [far if goal < 0 else goal for goal in self._table.goals[places].tolist()]
        for _, place, target, move in sorted(
            zip(goals, places.tolist(), targets, moves, strict=True), key=lambda row: row[:2]
        ):
            words = self._run.puzzle.describe_move(key, target)
            self._numbers["move"].append(_number(self._moves, {"move": words} | move))
            self._numbers["target"].append(place - here)

    def text(self) -> str:
        """Return the table, compressed, in Base64."""
        numbers = self._numbers
        for name in ("part", "move"):
            numbers[f"{name}s_begin"].append(len(numbers[name]))
        arrays: dict[str, Iterable[int]] = numbers | {"goals": self._table.goals, "depths": self._table.depths}
        planes = {
            name: np.array(values, dtype="<i4").view(np.uint8).reshape(-1, 4).T for name, values in arrays.items()
        }
        statistics = None
        with suppress(RunError):  # Not all boards have any.
            statistics = statistics_row(self._run, None)
        header = {
            "run": self._described(), "statistics": statistics, "texts": self._texts,
            "parts": [*map(json.loads, self._parts)], "frames": [*map(json.loads, self._frames)],
            "moves": [*map(json.loads, self._moves)],
            "arrays": {name: plane.shape[1] for name, plane in planes.items()},
        }  # fmt: skip
        raw = json.dumps(header, separators=(",", ":")).encode()
        raw = len(raw).to_bytes(4, "little") + raw + b"".join(plane.tobytes() for plane in planes.values())
        return b64encode(gzip.compress(raw, mtime=0)).decode("ascii")

    def _described(self) -> dict[str, Any]:
        """Return what the page of a board reads of a run."""
        run, puzzle = self._run, self._run.puzzle
        depth = int(self._table.depths.max())
        kind = "explore" if depth >= 0 else "census"
        return {
            "run": run.name, "kind": kind, "status": "complete", "depth": depth, "start": puzzle.render(puzzle.start),
            "puzzle": puzzle.name, "parameters": puzzle.option_texts(),
        }  # fmt: skip
