// Descriptions of a map, and its colours: even steps to the eye, from dark to light, each seen on its ground (a
// contrast of 3 at least).

import {counted, h, number} from "../lib/dom.js";

export const originOf = map => (map.start ? "the start" : map.origin);

// The name of each distance.
export const namesOf = map => ({depth: map.start ? "from the start" : "from the least key",
  goal_distance: "to the goal", eccentricity: "eccentricity"});

// 57 to the goal; eccentricity 136
export function worded(map, name, value) {
  const words = [number(value < 0 ? null : value), namesOf(map)[name]];
  return (name === "eccentricity" ? words.reverse() : words).join(" ");
}

export const titleOf = (map, name) => (name === "eccentricity" ? "Eccentricity" : `Moves ${namesOf(map)[name]}`);

// A description of the map, also for screen readers.
export function summaryOf(map) {
  const where = map.axes === 3 ? "space" : "a plane";
  const size = `${counted(map.points, "configuration")}, ${counted(map.moves.length / 2, "move")}`;
  const found = `Component ${number(map.component)} laid out in ${where}: ${size};`;
  const far = `the farthest is ${counted(map.depth, "move")} from ${originOf(map)}.`;
  return [found, far, partOf(map)].filter(Boolean).join(" ");
}

// The part of the component that the map shows, unless it is all.
export function partOf(map) {
  if (map.whole) return null;
  if (map.size === null) return `The map shows the ${number(map.points)} configurations found so far.`;
  return `The map shows ${number(map.points)} of ${number(map.size)} configurations: `
    + `those nearest to ${originOf(map)}, up to ${counted(map.depth, "move")} away.`;
}

// The error of the distances on the map.
export const errorOf = ({stress}) =>
  `Distances on the map differ from numbers of moves by ${Math.round(100 * Math.sqrt(stress))} % (root mean square).`;

// The bar has the colours of the scheme, light or dark, that the style of the page gives it.
export function legendOf({least, most}, words, unknown) {
  const bar = h("span", {class: "ramp"});
  for (const [scheme, ramp] of Object.entries(RAMPS)) {
    ramp.forEach((colour, place) => bar.style.setProperty(`--${scheme}-${place}`, colour));
  }
  const stops = RAMPS.light.map((_, place) => `light-dark(var(--light-${place}), var(--dark-${place}))`);
  bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  return [h("figcaption", {}, words), h("span", {}, number(least)), bar, h("span", {}, number(most)),
    unknown && h("span", {class: "muted"}, "grey: no path")];
}

export const RAMPS = {
  light: ["#231e6c", "#441c7d", "#651883", "#87137d", "#a6156d", "#bf2556", "#cf403a", "#d55f1c", "#d47d0d"],
  dark: ["#6064d5", "#9760dd", "#c85cd2", "#f35db5", "#fe7e95", "#ff9d87", "#feb885", "#ffd183", "#f9ec76"],
};
const STEPS = 256;
const channels = colour => [1, 3, 5].map(place => parseInt(colour.slice(place, place + 2), 16));

// A row of pixels, red, green, blue and alpha, from the least to the greatest.
export function pixels(ramp) {
  const row = new Uint8Array(4 * STEPS);
  for (let step = 0; step < STEPS; step++) {
    const at = step / (STEPS - 1) * (ramp.length - 1);
    const low = Math.min(Math.floor(at), ramp.length - 2);
    const [one, other] = [channels(ramp[low]), channels(ramp[low + 1])];
    row.set([...one.map((value, channel) => Math.round(value + (other[channel] - value) * (at - low))), 255], 4 * step);
  }
  return row;
}

// The part of the way from least to greatest of each distance; -1 where there is none.
export const shares = (distances, {least, most}) =>
  Float32Array.from(distances, value => (value < 0 ? -1 : (value - least) / Math.max(1, most - least)));

export function boundsOf(distances) {
  let [least, most] = [Infinity, 0];
  for (const value of distances) {
    if (value >= 0) least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return {least: Math.min(least, most), most};
}

// "rgb(31, 34, 36)" as three parts of one.
export const partsOf = colour => colour.match(/[\d.]+/g).slice(0, 3).map(value => Number(value) / 255);

// Whether a ground is dark.
export const isDark = ([red, green, blue]) => 0.3 * red + 0.6 * green + 0.1 * blue < 0.5;

// The style of the canvas names the colours of the page that are used on it.
export function coloursOf(canvas) {
  const style = getComputedStyle(canvas);
  return {ground: style.backgroundColor, way: style.color, unknown: style.borderTopColor, chosen: style.fill,
    goal: style.stroke};
}
