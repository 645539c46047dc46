// The built-in puzzles as people know them.

import {Draft} from "../edit/draft.js";
import {get} from "../lib/api.js";

// Those whose boards the editor takes and a PDF shows, and their goals unless an option is the goal.
export const GOALS = {sliding: "", klotski: "****/****/****/*AA*/*AA*"};

// The name of each puzzle, and its rules in a sentence.
const WORDS = {
  "burnt-pancakes": ["Burnt pancakes",
    "Turn over the upper pancakes together; in the end they lie in order, burnt sides down."],
  cube2: ["Pocket cube", "Turn faces until each has one colour."],
  gap: ["Gap", "Into a gap goes the card that follows its left neighbour; in the end each row is a suit in order."],
  hanoi: ["Towers of Hanoi", "Move one disc at a time, never onto a smaller one, until all are on the last peg."],
  klotski: ["Hakoiri-musume", "Slide pieces until the large one is at the exit below."],
  "magic-star": ["Magic stars", "Put the numbers on the points so that every line has the same sum."],
  nakuron: ["Nakuron", "Tilt the box until each ball has rolled out through a hole of its colour."],
  pancakes: ["Pancakes", "Turn over the upper pancakes together until they lie in order."],
  "peg-solitaire": ["Peg solitaire",
    "A peg jumps over its neighbour into a hole and takes it away; one is left, in the middle."],
  pyraminx: ["Pyraminx", "Turn corners until each face has one colour."],
  sliding: ["Sliding blocks", "Slide pieces over empty cells until those of the goal are in their places."],
  superpuzz: ["Superpuzz",
    "Into a hole goes the card that follows its left neighbour; in the end each row is a suit in order."],
  tiles: ["Sliding tiles", "Slide tiles into the blank until they are in order."],
  topspin: ["TopSpin", "Reverse neighbours on the ring until the numbers are in order."],
};

let known = null;

// The puzzles and the known starts; fetched once.
export const puzzlesOf = () => (known ??= get(["puzzles"]));

// The name of a run: the one given to it, that of a known start, or that of its puzzle.
export const calledOf = async run => run.title
  || (run.start && (await puzzlesOf()).classics.find(classic => isOf(run, classic))?.title.split(",")[0])
  || nameOf(run.puzzle || run.run);

// A start with its goal, however they are written: of a board, as it is drawn.
function meant(start, goal, axis) {
  const draft = Draft.of(start, goal, Boolean(axis));
  return draft ? `${draft.start} ${draft.goalText}` : `${start} ${goal}`;
}

// Whether a run is of a known start, with its goal and metric.
export function isOf({puzzle, start, parameters}, classic) {
  const {start: known, goal = Draft.exit(known), ...options} = givenOf(classic);
  return classic.puzzle === puzzle
    && meant(known, goal, options.axis) === meant(start, parameters.goal ?? "", parameters.axis)
    && Object.entries(options).every(([name, value]) => parameters[name] === value);
}

export const nameOf = puzzle => WORDS[puzzle]?.[0] ?? puzzle;
export const rulesOf = puzzle => WORDS[puzzle]?.[1] ?? "";

// Option values of the usual kinds in words.
const VALUES = {
  "metric unit": "one cell is one move", "metric straight": "any distance in one direction is one move",
  "metric finger": "all steps of one piece are one move",
  "metric half": "a half turn is one move", "metric quarter": "a quarter turn is one move",
  "metric single": "one tile is one move", "metric multi": "a row of tiles is one move",
  "symmetry on": "turned and mirrored boards count as one", "symmetry off": "each board for itself",
};

export const valueOf = (option, value) => VALUES[`${option} ${value}`] ?? value;

// The metric in which the source of a known start counts: its numbers are at its end.
const metricOf = ({moves, source}) =>
  Object.keys(moves).find(metric => moves[metric] === parseInt(source.split(": ").at(-1)));

// The start and options of a known start.
export function givenOf(classic) {
  const metric = metricOf(classic);
  return {start: classic.start, ...classic.options, ...(metric && metric !== "moves" ? {metric} : {})};
}

export function fewestOf({moves}) {
  return Object.entries(moves).map(([metric, count]) =>
    (metric === "moves" ? String(count) : `${count} if ${valueOf("metric", metric)}`)).join(", ");
}
