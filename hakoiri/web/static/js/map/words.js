// Descriptions of a map.

import {counted, number} from "../lib/format.js";

export const originOf = map => (map.start ? "the start" : map.origin);

// The name of each distance.
export const namesOf = map => ({depth: map.start ? "from the start" : "from the least key", goal_distance: "to the goal", eccentricity: "eccentricity"});

// 57 to the goal; eccentricity 136
export function worded(map, name, value) {
  const words = [number(value < 0 ? null : value), namesOf(map)[name]];
  return (name === "eccentricity" ? words.reverse() : words).join(" ");
}

export const titleOf = (map, name) => (name === "eccentricity" ? "Eccentricity" : `Moves ${namesOf(map)[name]}`);

// A description of the map, also for screen readers.
export function summaryOf(map) {
  const where = map.axes === 3 ? "space" : "a plane";
  const found = `Component ${number(map.component)} laid out in ${where}: ${counted(map.points, "configuration")}, ${counted(map.moves.length / 2, "move")}; the farthest is ${counted(map.depth, "move")} from ${originOf(map)}.`;
  return [found, partOf(map)].filter(Boolean).join(" ");
}

// The part of the component that the map shows, unless it is all.
export function partOf(map) {
  if (map.whole) return null;
  if (map.size === null) return `The map shows the ${number(map.points)} configurations found so far.`;
  return `The map shows ${number(map.points)} of ${number(map.size)} configurations: those nearest to ${originOf(map)}, up to ${counted(map.depth, "move")} away.`;
}

// The error of the distances on the map.
export const errorOf = map => `Distances on the map differ from numbers of moves by ${Math.round(100 * Math.sqrt(map.stress))} % (root mean square).`;
