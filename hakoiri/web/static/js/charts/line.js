// A small line of figures, one for each step; null leaves a gap. Marks are crosses, each with its words: {place, words}.

import {s} from "../lib/dom.js";

const [WIDE, HIGH, EDGE] = [320, 56, 7];
// Smaller differences look small.
const LEAST_SPAN = 6;

export function line(values, at, words, marks = []) {
  const seen = values.filter(value => value !== null);
  const [least, most] = [Math.min, Math.max].map(choose => seen.reduce((found, value) => choose(found, value)));
  const span = Math.max(LEAST_SPAN, most - least);
  const x = place => (EDGE + (place / Math.max(1, values.length - 1)) * (WIDE - 2 * EDGE)).toFixed(1);
  // What is out of reach is at the top.
  const y = value => (EDGE + ((most - (value ?? most)) / span) * (HIGH - 2 * EDGE)).toFixed(1);
  const known = place => values[place] !== null && values[place] !== undefined;
  const drawn = values.map((value, place) => (known(place) ? `${known(place - 1) ? "L" : "M"}${x(place)},${y(value)}` : "")).join("");
  const cross = ({place, words: said}) => s("path", {class: "mark", d: `M${x(place)},${y(values[place])}m-4,-4l8,8m0,-8l-8,8`}, s("title", {}, said));
  return s("svg", {class: "line", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": words},
    s("path", {d: drawn}),
    known(at) && s("line", {x1: x(at), x2: x(at), y1: 0, y2: HIGH, class: "here"}),
    marks.map(cross));
}
