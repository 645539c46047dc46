// A small line of figures, one for each step; null leaves a gap. Marks are crosses, each with its words: {place,
// words}.

import {s, short} from "../lib/dom.js";

const [WIDE, HIGH, EDGE, LEFT] = [320, 56, 7, 34];
// Smaller differences look small.
const LEAST_SPAN = 6;

// `press` is called with the step that is pressed.
export function line(values, at, words, {marks = [], press} = {}) {
  const seen = values.filter(value => value !== null);
  const [least, most] = [Math.min, Math.max].map(choose => seen.reduce((found, value) => choose(found, value)));
  const span = Math.max(LEAST_SPAN, most - least);
  const x = place => (LEFT + (place / Math.max(1, values.length - 1)) * (WIDE - LEFT - EDGE)).toFixed(1);
  // What is out of reach is at the top.
  const y = value => (EDGE + ((most - (value ?? most)) / span) * (HIGH - 2 * EDGE)).toFixed(1);
  const known = place => values[place] !== null && values[place] !== undefined;
  const drawn = values.map((value, place) =>
    (known(place) ? `${known(place - 1) ? "L" : "M"}${x(place)},${y(value)}` : "")).join("");
  const cross = ({place, words: said}) =>
    s("path", {class: "mark", d: `M${x(place)},${y(values[place])}m-4,-4l8,8m0,-8l-8,8`}, s("title", {}, said));
  const pressed = event => {
    const box = event.currentTarget.getBoundingClientRect();
    const share = ((event.clientX - box.left) / box.width * WIDE - LEFT) / (WIDE - LEFT - EDGE);
    press(Math.max(0, Math.min(values.length - 1, Math.round(share * (values.length - 1)))));
  };
  return s("svg", {class: press ? "line opens" : "line", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img",
    "aria-label": words, onclick: press && pressed},
    [...new Set([most, least])].map(value => s("text", {x: LEFT - 6, y: Number(y(value)) + 3.5}, short(value))),
    s("path", {d: drawn}),
    known(at) && s("line", {x1: x(at), x2: x(at), y1: 0, y2: HIGH, class: "here"}),
    marks.map(cross));
}
