// What charts share: a plot as wide as its place on the screen, so that its words have the size of all others.

import {button, h, s, save, short} from "../lib/dom.js";
import {drawing, pixels} from "../lib/snapshot.js";

export const [LEFT, BOTTOM, TOP] = [52, 46, 26];

export class Chart {
  constructor() {
    this.plot = s("svg", {role: "img"});
    this.element = h("figure", {class: "chart"}, this.plot, h("div", {class: "row end saves"},
      button("Save values", () => save(new Blob([this.rows().map(row => row.join(",")).join("\n")], {type: "text/csv"}),
        "chart.csv"), {class: "plain link"}),
      button("Save picture", async () => save(await pixels(drawing(this.plot, 2 * this.wide, 2 * this.high), this.plot),
        "chart.png"), {class: "plain link"})));
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

  // The titles of the axes.
  titles(across, up) {
    return [s("text", {x: this.wide, y: this.floor + 38, "text-anchor": "end", class: "title"}, across),
      s("text", {x: 0, y: 12, class: "title"}, up)];
  }

  // A line across at a height, with its value before it.
  level(value, y) {
    return s("g", {class: "axis"}, s("line", {x1: LEFT, x2: this.wide, y1: y, y2: y}),
      s("text", {x: LEFT - 8, y: y + 4, "text-anchor": "end"}, short(value)));
  }

  // A value below the plot.
  tick = (value, x) => s("text", {x, y: this.floor + 20, "text-anchor": x > this.wide - 20 ? "end" : "middle"},
    short(value));
}

// Round steps of an axis: 1, 2 or 5 times a power of ten; at most five.
export function steps(most) {
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 1) / 5));
  const step = Math.max(1, [1, 2, 5, 10].map(times => times * power).find(wide => most / wide <= 5));
  return Array.from({length: Math.floor(most / step) + 1}, (_, place) => place * step);
}

// The least round value that is no less.
export function ceiling(most) {
  const [, step = 1] = steps(most);
  return Math.ceil(most / step) * step;
}

// Powers of ten up to there, some six of them.
export function tens(most) {
  const last = Math.ceil(Math.log10(Math.max(most, 10)) - 1e-9);
  const apart = Math.ceil((last + 1) / 6);
  return Array.from({length: Math.floor(last / apart) + 1}, (_, place) => 10 ** (place * apart));
}
