// A small line of figures, one for each step; null leaves a gap. Marks are crosses, each with its words: {place, words}.

import {s} from "../lib/dom.js";

const [WIDE, HIGH, EDGE] = [320, 56, 7];

export function line(values, at, words, marks = []) {
  const most = values.reduce((greatest, value) => Math.max(greatest, value ?? 0), 1);
  const x = place => (EDGE + (place / Math.max(1, values.length - 1)) * (WIDE - 2 * EDGE)).toFixed(1);
  // What is out of reach is at the top.
  const y = value => (HIGH - EDGE - ((value ?? most) / most) * (HIGH - 2 * EDGE)).toFixed(1);
  const known = place => values[place] !== null && values[place] !== undefined;
  const drawn = values.map((value, place) => (known(place) ? `${known(place - 1) ? "L" : "M"}${x(place)},${y(value)}` : "")).join("");
  const cross = ({place, words: said}) => s("path", {class: "mark", d: `M${x(place)},${y(values[place])}m-4,-4l8,8m0,-8l-8,8`}, s("title", {}, said));
  return s("svg", {class: "line", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": words},
    s("path", {d: drawn}),
    known(at) && s("line", {x1: x(at), x2: x(at), y1: 0, y2: HIGH, class: "here"}),
    marks.map(cross));
}
