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
_RED, _PINK = "#d55e00", "#cc79a7"
#: Dark violet to yellow: matplotlib's viridis at nine points.
_COLOURS = "440154 472d7b 3b528b 2c728e 21918c 28ae80 5ec962 addc30 fde725"

_BODY = """\
<style>
html, body { margin: 0; height: 100%; overflow: hidden; }
:root { color-scheme: light dark; font: 15px/1.4 "DejaVu Sans", Verdana, sans-serif; }
canvas { color: CanvasText; width: 100%; height: 100%; display: block; touch-action: none; cursor: grab; }
p { position: fixed; left: 1rem; margin: 0; pointer-events: none; }
#title { top: .7rem; } #legend { bottom: .7rem; }
i { display: inline-block; width: 8rem; height: .7em; background: linear-gradient(90deg, @GRADIENT@); }
b { display: inline-block; width: .7em; height: .7em; border-radius: 50%; }
</style>
<canvas id="map" tabindex="0" aria-label="@TITLE@"></canvas>
<p id="title">@TITLE@<br><small>Drag to turn, scroll or pinch to zoom; arrow keys, + and - do the same.</small></p>
<p id="legend">0 <i></i> @DEPTH@ moves from <b style="background:@RED@"></b> @ORIGIN@@GOALS@</p>
<script>
"use strict";
const read = (text, kind) => new kind(Uint8Array.from(atob(text), letter => letter.charCodeAt(0)).buffer);
const places = read("@PLACES@", Float32Array), moves = read("@MOVES@", Uint32Array);
const depths = read("@DEPTHS@", Uint32Array), goals = read("@GOAL_POINTS@", Uint32Array);
const colours = @COLOURS@, canvas = document.getElementById("map"), pen = canvas.getContext("2d");
const count = depths.length, shown = new Float32Array(2 * count);
const radius = Math.max(1, places.reduce((most, value) => Math.max(most, Math.abs(value)), 0));
// The axes across, up and towards the viewer.
let axes = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], zoom = 0.9, timer = null;
const byDepth = Array.from(depths.keys()).sort((one, other) => depths[one] - depths[other]);
function turn(one, other, angle) {
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)], [a, b] = [axes[one], axes[other]];
  axes[one] = a.map((value, axis) => value * cosine + b[axis] * sine);
  axes[other] = b.map((value, axis) => value * cosine - a[axis] * sine);
}
function dot(point, size, colour) {
  pen.fillStyle = colour;
  pen.beginPath();
  pen.arc(shown[2 * point], shown[2 * point + 1], size, 0, 7);
  pen.fill();
}
// While the map is turned, large maps leave out the lines.
function draw(moving) {
  const scale = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth * scale, canvas.clientHeight * scale];
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  pen.clearRect(0, 0, width, height);
  const unit = zoom * Math.min(width, height) / 2 / radius, [x, y] = axes;
  for (let point = 0; point < count; point++) {
    const [a, b, c] = places.subarray(3 * point, 3 * point + 3);
    shown[2 * point] = width / 2 + unit * (a * x[0] + b * x[1] + c * x[2]);
    shown[2 * point + 1] = height / 2 - unit * (a * y[0] + b * y[1] + c * y[2]);
  }
  if (!moving || moves.length < 20000) {
    pen.strokeStyle = getComputedStyle(canvas).color;
    pen.globalAlpha = 0.15;
    pen.lineWidth = scale / 2;
    pen.beginPath();
    for (let move = 0; move < moves.length; move += 2) {
      pen.moveTo(shown[2 * moves[move]], shown[2 * moves[move] + 1]);
      pen.lineTo(shown[2 * moves[move + 1]], shown[2 * moves[move + 1] + 1]);
    }
    pen.stroke();
    pen.globalAlpha = 1;
  }
  const size = scale * Math.max(1.2, Math.min(5, 120 / Math.sqrt(count)));
  let last = -1;
  for (const point of byDepth) {
    if (depths[point] !== last) pen.fillStyle = colours[last = depths[point]];
    pen.fillRect(shown[2 * point] - size, shown[2 * point + 1] - size, 2 * size, 2 * size);
  }
  for (const point of goals) dot(point, 1.6 * size, "@PINK@");
  dot(0, 2.5 * size, "@RED@");
}
function change() {
  clearTimeout(timer);
  requestAnimationFrame(() => draw(true));
  timer = setTimeout(() => draw(false), 150);
}
const held = new Map();
canvas.onpointerdown = event => { canvas.setPointerCapture(event.pointerId); held.set(event.pointerId, event); };
canvas.onpointerup = canvas.onpointercancel = event => held.delete(event.pointerId);
canvas.onpointermove = event => {
  const before = held.get(event.pointerId);
  if (!before) return;
  const other = [...held.values()].find(each => each.pointerId !== event.pointerId);
  if (other) {
    const apart = one => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) || 1;
    zoom *= apart(event) / apart(before);
  } else {
    turn(0, 2, (event.clientX - before.clientX) / 200);
    turn(1, 2, (before.clientY - event.clientY) / 200);
  }
  held.set(event.pointerId, event);
  change();
};
canvas.addEventListener("wheel", event => { event.preventDefault(); zoom *= Math.exp(-event.deltaY / 500); change(); },
  {passive: false});
const keys = {
  ArrowLeft: () => turn(0, 2, -0.1), ArrowRight: () => turn(0, 2, 0.1), ArrowUp: () => turn(1, 2, 0.1),
  ArrowDown: () => turn(1, 2, -0.1), "+": () => { zoom *= 1.2; }, "-": () => { zoom /= 1.2; },
};
document.addEventListener("keydown", event => {
  if (!(event.key in keys) || event.ctrlKey || event.altKey || event.metaKey) return;
  keys[event.key]();
  change();
});
addEventListener("resize", change);
if (places.some((value, place) => place % 3 === 2 && value !== 0)) { turn(0, 2, 0.45); turn(1, 2, 0.3); }
draw(false);
</script>
"""


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
    stops = [f"#{stop}" for stop in _COLOURS.split()]
    ends = np.array([[int(stop[place : place + 2], 16) for place in (1, 3, 5)] for stop in stops])
    at = np.linspace(0, len(stops) - 1, depth + 1)
    mixed = np.stack([np.interp(at, np.arange(len(stops)), channel) for channel in ends.T], axis=1).round()
    shades = [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in mixed.astype(int).tolist()]
    filled = {
        "TITLE": text(_title(run, found)), "ORIGIN": text(map_row(run, found)["origin"]),
        "DEPTH": str(depth), "GOALS": f'; <b style="background:{_PINK}"></b> goals' if len(goals) else "",
        "GRADIENT": ", ".join(stops), "COLOURS": script(shades), "RED": _RED, "PINK": _PINK,
        "PLACES": _base64(solid), "MOVES": _base64(found.moves.astype("<u4")),
        "DEPTHS": _base64(found.depths.astype("<u4")), "GOAL_POINTS": _base64(goals.astype("<u4")),
    }  # fmt: skip
    return page(_BODY, filled)


def _plot(run: OpenRun, found: Map, target: Path, vectors: int) -> None:
    # In the plane in which the points spread most.
    middle = found.places - found.places.mean(axis=0)
    _, directions = np.linalg.eigh(middle.T.astype(np.float64) @ middle)
    flat: NDArray[np.float32] = (middle @ directions[:, ::-1][:, :2]).astype(np.float32)
    with drawn_into(target, (9, 7)) as figure:
        from matplotlib.collections import LineCollection

        axes, image = figure.add_subplot(), len(flat) > vectors
        lines = LineCollection(list(flat[found.moves]), colors="#00000040", linewidths=0.3, zorder=1, rasterized=image)
        axes.add_collection(lines)
        size = max(0.5, min(30.0, 20_000 / len(flat)))
        (across, up), goals = flat.T, _goals(found)
        points = axes.scatter(across, up, size, found.depths, cmap="viridis", linewidths=0, zorder=2, rasterized=image)
        if len(goals):
            axes.scatter(across[goals], up[goals], 3 * size, _PINK, linewidths=0, zorder=3, label="goals")
        axes.scatter(across[:1], up[:1], 60, _RED, zorder=4, label=map_row(run, found)["origin"])
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
