// A small line of figures, one for each step; null leaves a gap.

import {s} from "../lib/dom.js";

export function line(values, at, words) {
  const [width, height] = [320, 64];
  const known = values.filter(value => value !== null);
  const most = Math.max(1, ...known);
  const across = width / Math.max(1, values.length - 1);
  const point = (value, place) => `${(place * across).toFixed(1)},${(height - (value / most) * (height - 6) - 3).toFixed(1)}`;
  const points = values.map((value, place) => (value === null ? null : point(value, place))).filter(Boolean);
  const here = values[at] === null || values[at] === undefined ? null : point(values[at], at).split(",");
  return s("svg", {class: "line", viewBox: `-4 0 ${width + 8} ${height}`, role: "img", "aria-label": words, preserveAspectRatio: "none"},
    s("polyline", {points: points.join(" "), "vector-effect": "non-scaling-stroke"}),
    here && s("line", {x1: here[0], x2: here[0], y1: 0, y2: height, class: "here", "vector-effect": "non-scaling-stroke"}));
}
