"""Maps as files, in the format given by their ending: a picture, a page to turn in the hand, or the page's own data."""

from base64 import b64encode
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hakoiri.errors import counted
from hakoiri.export.graphs import ENDING, map_row, write_map
from hakoiri.render.films import check_ending, page, script
from hakoiri.render.images import text
from hakoiri.render.plots import PLOTS, drawn_into
from hakoiri.run.maps import Map
from hakoiri.run.opened import OpenRun
from hakoiri.storage.engine.files import write_file

MAPS = (*PLOTS, ".html", f".{ENDING}")
#: The start and the goals, in no colour of the depths.
_START, _GOAL = "#12686b", "#56b4e9"
#: Violet to orange: the page's colours of a map on light ground (web/static/js/map/words.js).
COLOURS = (
    "#231e6c", "#441c7d", "#651883", "#87137d", "#a6156d", "#bf2556", "#cf403a", "#d55f1c", "#d47d0d",
)  # fmt: skip


def save_map(run: OpenRun, found: Map, target: Path, vectors: int = 5_000) -> None:
    """Write a map as .png, .svg, .pdf, .html (self-contained) or .hakomap (`hakoiri.export.graphs`).

    An SVG or PDF has more points than `vectors` as an image: 26,000 points take 0.3 MB, not 12.
    """
    check_ending(target, MAPS)
    if target.suffix == f".{ENDING}":
        write_map(run, found, target)
    elif target.suffix == ".html":
        write_file(target, map_page(run, found))
    else:
        _plot(run, found, target, vectors)


def map_page(run: OpenRun, found: Map) -> str:
    """Return the map as a self-contained page, which one turns and zooms."""
    solid = np.zeros((len(found.keys), 3), dtype="<f4")
    solid[:, : found.places.shape[1]] = found.places - (found.places.max(axis=0) + found.places.min(axis=0)) / 2
    depth, goals = int(found.depths.max()), _goals(found)
    ends = np.array([[int(stop[place : place + 2], 16) for place in (1, 3, 5)] for stop in COLOURS])
    at = np.linspace(0, len(COLOURS) - 1, depth + 1)
    mixed = np.stack([np.interp(at, np.arange(len(COLOURS)), channel) for channel in ends.T], axis=1).round()
    shades = [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in mixed.astype(int).tolist()]
    filled = {
        "TITLE": text(_title(run, found)), "ORIGIN": text(map_row(run, found)["origin"]),
        "DEPTH": str(depth), "GOALS": f'; <b style="background:{_GOAL}"></b> goals' if len(goals) else "",
        "GRADIENT": ", ".join(COLOURS), "COLOURS": script(shades), "START": _START, "GOAL": _GOAL,
        "PLACES": _base64(solid), "MOVES": _base64(found.moves.astype("<u4")),
        "DEPTHS": _base64(found.depths.astype("<u4")), "GOAL_POINTS": _base64(goals.astype("<u4")),
    }  # fmt: skip
    return page("map", filled)


def _plot(run: OpenRun, found: Map, target: Path, vectors: int) -> None:
    # In the plane in which the points spread most.
    middle = found.places - found.places.mean(axis=0)
    _, directions = np.linalg.eigh(middle.T.astype(np.float64) @ middle)
    flat: NDArray[np.float32] = (middle @ directions[:, ::-1][:, :2]).astype(np.float32)
    with drawn_into(target, (9, 7)) as figure:
        from matplotlib.collections import LineCollection
        from matplotlib.colors import LinearSegmentedColormap

        ramp = LinearSegmentedColormap.from_list("depths", COLOURS)
        axes, image = figure.add_subplot(), len(flat) > vectors
        lines = LineCollection(list(flat[found.moves]), colors="#00000040", linewidths=0.3, zorder=1, rasterized=image)
        axes.add_collection(lines)
        size = max(0.5, min(30.0, 20_000 / len(flat)))
        (across, up), goals = flat.T, _goals(found)
        points = axes.scatter(across, up, size, found.depths, cmap=ramp, linewidths=0, zorder=2, rasterized=image)
        if len(goals):
            axes.scatter(across[goals], up[goals], 3 * size, _GOAL, linewidths=0, zorder=3, label="goals")
        axes.scatter(across[:1], up[:1], 60, _START, zorder=4, label=map_row(run, found)["origin"])
        axes.legend(loc="upper right")
        axes.set_aspect("equal")
        axes.set_axis_off()
        axes.set_title(_title(run, found), fontsize=10)
        figure.colorbar(points, ax=axes, label="moves from the start", shrink=0.7)


def _goals(found: Map) -> NDArray[np.intp]:
    return np.flatnonzero(found.goals == 0) if found.goals is not None else np.zeros(0, dtype=np.intp)


def _title(run: OpenRun, found: Map) -> str:
    part = "" if found.whole else ", those nearest to the start"
    return f"{run.puzzle.name}: {counted(len(found.keys), 'configurations')}{part}"


def _base64(array: NDArray[np.generic]) -> str:
    return b64encode(array.tobytes()).decode("ascii")
