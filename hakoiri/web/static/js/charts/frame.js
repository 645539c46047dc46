// What charts share: a plot as wide as its place on the screen, so that its words have the size of all others.

import {button, h, s, save} from "../lib/dom.js";
import {short} from "../lib/format.js";

export const [LEFT, BOTTOM, TOP] = [52, 46, 26];
// What a picture of a chart needs of the page's style.
const STYLES = ["fill", "stroke", "stroke-width", "opacity", "font-family", "font-size", "text-anchor", "visibility"];

export class Chart {
  constructor() {
    this.plot = s("svg", {role: "img"});
    this.element = h("figure", {class: "chart"}, this.plot, h("div", {class: "row end saves"},
      button("Save values", () => save(new Blob([this.rows().map(row => row.join(",")).join("\n")], {type: "text/csv"}), "chart.csv"), {class: "plain link"}),
      button("Save picture", () => this.#picture(), {class: "plain link"})));
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

  // A picture at twice the size of the screen.
  async #picture() {
    const copy = this.plot.cloneNode(true);
    const [from, to] = [this.plot, copy].map(plot => plot.querySelectorAll("*"));
    from.forEach((shape, place) => STYLES.forEach(name => to[place].style.setProperty(name, getComputedStyle(shape).getPropertyValue(name))));
    [copy.style.width, copy.style.height] = [`${2 * this.wide}px`, `${2 * this.high}px`];
    const [image, canvas] = [new Image(), h("canvas", {width: 2 * this.wide, height: 2 * this.high})];
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
    await image.decode();
    const pen = canvas.getContext("2d");
    pen.fillStyle = getComputedStyle(document.body).getPropertyValue("--surface");
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(image, 0, 0);
    canvas.toBlob(file => save(file, "chart.png"));
  }

  // The titles of the axes.
  titles(across, up) {
    return [s("text", {x: this.wide, y: this.floor + 38, "text-anchor": "end", class: "title"}, across), s("text", {x: 0, y: 12, class: "title"}, up)];
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
