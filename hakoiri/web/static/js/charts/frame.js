// What charts share: a plot as wide as its place on the screen, so that its words have the size of all others.

import {h, s} from "../lib/dom.js";
import {short} from "../lib/format.js";

export const [LEFT, BOTTOM, TOP] = [52, 30, 12];

export class Chart {
  constructor() {
    this.plot = s("svg", {role: "img"});
    this.element = h("figure", {class: "chart"}, this.plot);
    new ResizeObserver(() => this.#fit()).observe(this.plot);
    this.#fit();
  }

  #fit() {
    const wide = Math.round(this.plot.getBoundingClientRect().width) || 900;
    if (wide === this.wide) return;
    this.wide = wide;
    this.high = Math.round(Math.max(200, Math.min(320, wide * 0.5)));
    this.floor = this.high - BOTTOM;
    this.plot.setAttribute("viewBox", `0 0 ${this.wide} ${this.high}`);
    this.draw();
  }

  // A line across at a height, with its value before it.
  level(value, y) {
    return s("g", {class: "axis"}, s("line", {x1: LEFT, x2: this.wide, y1: y, y2: y}), s("text", {x: LEFT - 8, y: y + 4, "text-anchor": "end"}, short(value)));
  }

  // A value below the plot.
  tick(value, x) {
    return s("text", {x, y: this.floor + 20, "text-anchor": x > this.wide - 20 ? "end" : "middle"}, short(value));
  }
}

// Round steps of an axis: 1, 2 or 5 times a power of ten; at most five.
export function steps(most) {
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 1) / 5));
  const step = Math.max(1, [1, 2, 5, 10].map(times => times * power).find(wide => most / wide <= 5));
  return Array.from({length: Math.floor(most / step) + 1}, (_, place) => place * step);
}

// Powers of ten up to there, some six of them.
export function tens(most) {
  const last = Math.ceil(Math.log10(Math.max(most, 10)) - 1e-9);
  const apart = Math.ceil((last + 1) / 6);
  return Array.from({length: Math.floor(last / apart) + 1}, (_, place) => 10 ** (place * apart));
}
