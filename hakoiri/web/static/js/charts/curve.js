// Points joined by a line, or by stairs where a value stays until the next; with bounds around each where they are
// known.

import {number, put, s, short} from "../lib/dom.js";
import {ceiling, Chart, LEFT, steps, TOP} from "./frame.js";

export class Curve extends Chart {
  // `what` are the words of the axes: {across, up, stairs}; points are [across, up, least, most], the bounds may be
  // missing.
  constructor(what, points) {
    super();
    Object.assign(this, {what, points});
    this.draw();
  }

  rows = () => [[this.what.across, this.what.up], ...this.points];

  draw() {
    if (!this.points) return;
    const {points, what, floor} = this;
    const greatest = place => points.reduce((most, point) => Math.max(most, point[place] ?? 0), 0) || 1;
    const [wide, high] = [greatest(0), ceiling(Math.max(greatest(1), greatest(3)))];
    const x = value => LEFT + 8 + (value / wide) * (this.wide - LEFT - 20);
    const y = value => floor - (value / high) * (floor - TOP);
    const drawn = points.map(([across, up], place) => {
      const [toX, toY] = [x(across).toFixed(1), y(up).toFixed(1)];
      return place && what.stairs ? `H${toX}V${toY}` : `${place ? "L" : "M"}${toX},${toY}`;
    });
    put(this.plot, ...this.titles(what.across, what.up),
      ...steps(high).map(value => this.level(value, y(value))),
      ...steps(wide).map(value => this.tick(value, x(value))),
      s("path", {class: "curve", d: drawn.join("")}),
      ...points.filter(([, , least]) => least !== undefined).map(([across, , least, most]) =>
        s("line", {class: "bounds", x1: x(across), x2: x(across), y1: y(least), y2: y(most)})),
      ...points.map(([across, up]) => s("circle", {class: "point", cx: x(across), cy: y(up), r: 4},
        s("title", {}, `${what.across} ${short(across)}: ${number(up)}`))));
    this.plot.setAttribute("aria-label",
      `${what.up} by ${what.across}: ${points.length} points, up to ${number(Math.max(greatest(1), greatest(3)))}`);
  }
}
