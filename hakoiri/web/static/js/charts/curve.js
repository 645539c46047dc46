// Points joined by a line, or by stairs where a value stays until the next; with bounds around each where they are known.

import {h, put, s} from "../lib/dom.js";
import {short} from "../lib/format.js";
import {steps} from "./histogram.js";

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [900, 300, 60, 44, 12];

export class Curve {
  // `what` are the words of the axes: {across, up, stairs}.
  constructor(what) {
    this.what = what;
    this.plot = s("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img"});
    this.element = h("figure", {class: "chart"}, this.plot);
  }

  // [[across, up, least, most], ...] in order; the bounds may be missing.
  show(points) {
    const greatest = place => points.reduce((most, point) => Math.max(most, point[place] ?? 0), 0) || 1;
    const [wide, high] = [greatest(0), Math.max(greatest(1), greatest(3))];
    const floor = HEIGHT - BOTTOM;
    const x = value => LEFT + (value / wide) * (WIDTH - LEFT - 12);
    const y = value => floor - (value / high) * (floor - TOP);
    const at = ([across, up]) => `${x(across).toFixed(1)},${y(up).toFixed(1)}`;
    const drawn = points.map((point, place) => (place && this.what.stairs ? `H${x(point[0]).toFixed(1)}V${y(point[1]).toFixed(1)}` : `${place ? "L" : "M"}${at(point)}`)).join("");
    put(this.plot,
      ...steps(high, false).map(value => s("g", {class: "axis"}, s("line", {x1: LEFT, x2: WIDTH, y1: y(value), y2: y(value)}), s("text", {x: LEFT - 8, y: y(value) + 4, "text-anchor": "end"}, short(value)))),
      ...steps(wide, false).map(value => s("text", {class: "tick", x: x(value), y: floor + 18, "text-anchor": "middle"}, short(value))),
      s("text", {x: WIDTH, y: HEIGHT - 4, "text-anchor": "end"}, this.what.across),
      s("path", {class: "curve", d: drawn}),
      ...points.filter(([, , least]) => least !== undefined).map(([across, , least, most]) => s("line", {class: "bounds", x1: x(across), x2: x(across), y1: y(least), y2: y(most)})),
      ...points.map(([across, up]) => s("circle", {class: "point", cx: x(across), cy: y(up), r: 4}, s("title", {}, `${this.what.across} ${short(across)}: ${up.toLocaleString("en-US")}`))));
    this.plot.setAttribute("aria-label", `${this.what.up} by ${this.what.across}: ${points.length} points, up to ${short(high)}`);
    return this;
  }
}
