// Bars, one for each layer, that grow while a run lives. Thousands of layers are one path.

import {h, put, s} from "../lib/dom.js";
import {number, short} from "../lib/format.js";

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [900, 300, 52, 28, 12];

// Round steps of an axis: 1, 2 or 5 times a power of ten; at most five.
export function steps(most, logarithmic) {
  if (logarithmic) {
    const tens = Array.from({length: Math.max(1, Math.ceil(Math.log10(Math.max(most, 1)) + 1e-9)) + 1}, (_, power) => 10 ** power);
    return tens.filter((_, place) => place % Math.ceil(tens.length / 6) === 0);
  }
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 1) / 5));
  const step = [1, 2, 5, 10].map(times => times * power).find(wide => most / wide <= 5);
  const whole = Math.max(1, step);
  return Array.from({length: Math.floor(most / whole) + 1}, (_, place) => place * whole);
}

export class Histogram {
  // `what` are the words: {bar: "layer", of: "configurations", title}.
  constructor(what) {
    Object.assign(this, {what, values: [], marked: null, logarithmic: false});
    this.plot = s("svg", {class: "histogram", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img"});
    this.read = h("p", {class: "reading"}, " ");
    this.element = h("figure", {class: "chart"}, this.plot, this.read);
    this.plot.addEventListener("pointermove", event => this.#point(event));
    this.plot.addEventListener("pointerleave", () => this.#reading(null));
  }

  // `marked` is the bar of the nearest goal, if one is known.
  show(values, marked = null) {
    Object.assign(this, {values, marked});
    this.#draw();
  }

  scale(logarithmic) {
    this.logarithmic = logarithmic;
    this.#draw();
  }

  #height(value, most) {
    if (!value) return 0;
    const full = HEIGHT - BOTTOM - TOP;
    if (!this.logarithmic) return Math.max(1, (value / most) * full);
    // One configuration is still seen.
    return (Math.log10(value) + 0.15) / (Math.log10(Math.max(most, 10)) + 0.15) * full;
  }

  #draw() {
    const {values, marked} = this;
    // No spread of a million bars as arguments.
    const most = values.reduce((greatest, value) => Math.max(greatest, value), 1);
    const across = (WIDTH - LEFT) / Math.max(values.length, 1);
    const gap = across > 4 ? Math.min(2, across * 0.2) : 0;
    const floor = HEIGHT - BOTTOM;
    const bar = (value, place) => `M${(LEFT + place * across).toFixed(2)},${floor}v${(-this.#height(value, most)).toFixed(2)}h${(across - gap).toFixed(2)}V${floor}z`;
    const lines = steps(most, this.logarithmic).map(value => {
      const y = floor - (value ? this.#height(value, most) : 0);
      return s("g", {class: "axis"}, s("line", {x1: LEFT, x2: WIDTH, y1: y, y2: y}), s("text", {x: LEFT - 8, y: y + 4, "text-anchor": "end"}, short(value)));
    });
    const ends = steps(Math.max(values.length - 1, 1), false).map(place =>
      s("text", {class: "tick", x: LEFT + (place + 0.5) * across, y: HEIGHT - 8, "text-anchor": "middle"}, short(place)));
    this.under = s("rect", {class: "under", x: 0, y: TOP, width: Math.max(across, 1), height: floor - TOP, visibility: "hidden"});
    put(this.plot, ...lines, this.under, s("path", {class: "bars", d: values.map(bar).join("")}),
      marked !== null && values[marked] !== undefined ? s("path", {class: "marked", d: bar(values[marked], marked)}) : null, ...ends);
    this.plot.setAttribute("aria-label", `${this.what.title}: ${number(values.length)} ${this.what.bar}s, the largest with ${number(most)} ${this.what.of}`);
    this.across = across;
  }

  #point(event) {
    const box = this.plot.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * WIDTH - LEFT;
    this.#reading(Math.floor(x / this.across));
  }

  #reading(place) {
    const value = this.values[place];
    const known = value !== undefined;
    this.under.setAttribute("visibility", known ? "visible" : "hidden");
    if (known) this.under.setAttribute("x", LEFT + place * this.across);
    this.read.textContent = known ? `${this.what.bar} ${number(place)}: ${number(value)} ${this.what.of}${place === this.marked ? ", the nearest goals" : ""}` : " ";
  }
}
