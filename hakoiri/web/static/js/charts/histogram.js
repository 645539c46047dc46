// Bars, one for each layer, that grow while a run lives. Thousands of layers are one path.

import {h, number, put, s} from "../lib/dom.js";
import {ceiling, Chart, LEFT, steps, tens, TOP} from "./frame.js";

export class Histogram extends Chart {
  // `what` are the words: {bar: "layer", bars, of: "configurations", title}; the plural `bars` by default ends with s.
  // `open` of it is called with the number of a bar that is pressed.
  constructor(what) {
    super();
    Object.assign(this, {what, values: [], first: 0, marked: null, logarithmic: false});
    this.read = h("p", {class: "reading"}, " ");
    this.plot.after(this.read);
    this.plot.classList.add("histogram");
    this.plot.addEventListener("pointermove", event => this.#point(event));
    this.plot.addEventListener("pointerleave", () => this.#reading(null));
    if (what.open) {
      this.plot.classList.add("opens");
      this.plot.addEventListener("click",
        event => this.values[this.#placeOf(event)] && what.open(this.#placeOf(event) + this.first));
    }
  }

  // `marked` is the bar of the nearest goal, if one is known; the first bar is number `first`.
  show(values, marked = null, first = 0) {
    Object.assign(this, {values, marked, first});
    this.draw();
    return this;
  }

  rows = () => [[this.what.bar, this.what.of], ...this.values.map((value, place) => [place + this.first, value])];

  scale(logarithmic) {
    this.logarithmic = logarithmic;
    this.draw();
  }

  // A single configuration is still seen.
  #height(value, most) {
    const full = this.floor - TOP;
    if (!value) return 0;
    if (!this.logarithmic) return Math.max(1, (value / most) * full);
    return ((Math.log10(value) + 0.15) / (Math.log10(Math.max(most, 10)) + 0.15)) * full;
  }

  draw() {
    if (!this.values?.length) return;
    const {values, marked, floor} = this;
    // Not as arguments of Math.max: there may be too many.
    const most = values.reduce((greatest, value) => Math.max(greatest, value), 1);
    // No bar is higher than the axis.
    const top = this.logarithmic ? 10 ** Math.ceil(Math.log10(Math.max(most, 10))) : ceiling(most);
    this.across = (this.wide - LEFT) / values.length;
    const gap = this.across > 3 ? Math.min(2, this.across * 0.25) : 0;
    const bar = (value, place) => {
      const [x, up, wide] = [LEFT + place * this.across, -this.#height(value, top), this.across - gap];
      return `M${x.toFixed(2)},${floor}v${up.toFixed(2)}h${wide.toFixed(2)}V${floor}z`;
    };
    const levels = (this.logarithmic ? tens(top) : steps(top))
      .map(value => this.level(value, floor - this.#height(value, top)));
    const ticks = steps(Math.max(this.first + values.length - 1, 1)).filter(value => value >= this.first)
      .map(value => this.tick(value, LEFT + (value - this.first + 0.5) * this.across));
    this.under = s("rect", {class: "under", y: TOP, width: Math.max(this.across, 1), height: floor - TOP,
      visibility: "hidden"});
    put(this.plot, ...this.titles(this.what.bar, this.what.of), ...levels, this.under,
      s("path", {class: "bars", d: values.map(bar).join("")}),
      marked !== null && values[marked] !== undefined
        && s("path", {class: "marked", d: bar(values[marked], marked)}), ...ticks);
    this.#reading(null);
    const {bar: one, bars: many = `${one}s`, of, title} = this.what;
    const found = `${number(values.length)} ${many}, the largest with ${number(most)} ${of}`;
    this.plot.setAttribute("aria-label", `${title}: ${found}`);
  }

  #placeOf = event => Math.floor((event.clientX - this.plot.getBoundingClientRect().left - LEFT) / this.across);
  #point = event => { this.#reading(this.#placeOf(event)); };

  #reading(place) {
    const known = this.values[place] !== undefined;
    this.under?.setAttribute("visibility", known ? "visible" : "hidden");
    if (known) this.under.setAttribute("x", LEFT + place * this.across);
    this.read.textContent = this.#words(known ? place : this.marked);
  }

  // The text below the chart: on the bar under the pointer, else on the marked one.
  #words(place) {
    const value = this.values[place];
    if (value === undefined) return " ";
    const marked = place === this.marked ? ", including the nearest goals (red)" : "";
    return `${this.what.bar} ${number(place + this.first)}: ${number(value)} ${this.what.of}${marked}`;
  }
}
