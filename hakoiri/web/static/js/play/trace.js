// The curve of the distance to the goal over the moves played: a cross for each of the given mistakes (steps of the past).

import {line} from "../charts/line.js";
import {counted, number} from "../lib/format.js";

export function trace({past, place}, mistakes) {
  if (past.length < 2 || past.every(step => step.goal === null)) return null;
  const marks = mistakes.map(step => ({place: step, words: `Mistake, move ${number(step)}: ${past[step].words}`}));
  const words = [`Distance to the goal over ${counted(past.length - 1, "move")} played`, ...marks.map(mark => mark.words)];
  return line(past.map(step => step.goal), place, words.join(". "), marks);
}
