// What a map shows, in words.

import {counted, number} from "../lib/format.js";

export const originOf = map => (map.start ? "the start" : map.origin);

// What each distance is called.
export const namesOf = map => ({depth: map.start ? "from the start" : "from the least one", goal_distance: "to the goal", eccentricity: "eccentricity"});

// 57 to the goal; eccentricity 136
export function worded(map, name, value) {
  const words = [number(value < 0 ? null : value), namesOf(map)[name]];
  return (name === "eccentricity" ? words.reverse() : words).join(" ");
}

export const titleOf = (map, name) => (name === "eccentricity" ? "Eccentricity" : `Moves ${namesOf(map)[name]}`);

// What there is to be seen, for those who do not see it, too.
export function summaryOf(map) {
  const where = map.axes === 3 ? "space" : "a plane";
  const found = `Component ${number(map.component)} laid out in ${where}: ${counted(map.points, "configuration")}, ${counted(map.moves.length / 2, "move")}; the farthest is ${counted(map.depth, "move")} from ${originOf(map)}.`;
  return [found, partOf(map)].filter(Boolean).join(" ");
}

// How much of the component is shown, if not all.
export function partOf(map) {
  if (map.whole) return null;
  if (map.size === null) return `These are the ${number(map.points)} configurations that the run has found so far.`;
  return `These are the ${number(map.points)} of its ${number(map.size)} configurations that are nearest to ${originOf(map)}, up to ${counted(map.depth, "move")} away.`;
}

// How true distances on it are.
export const errorOf = map => `Distances on it are off by ${Math.round(100 * Math.sqrt(map.stress))} % (root mean square).`;
