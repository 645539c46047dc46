// The tables of a run, as its kind of run defines them, with a plot.

import {get} from "../lib/api.js";
import {bytes, counted, duration, h, number} from "../lib/dom.js";
import {Curve} from "../charts/curve.js";
import {Histogram} from "../charts/histogram.js";
import {drawn, startOf, startsOf} from "./pictures.js";

// Kinds of run that show layers or components instead of tables.
const OTHERS = new Set(["explore", "census", "hardest"]);
// The most boards drawn.
const DRAWN = 60;

// What the tables of a run are made of; null if it has none.
export const summaryOf = async run => (OTHERS.has(run.kind) ? null : get(["runs", run.run, "summary"]));

export function tablesOf(run, found) {
  if (!found) return [];
  const plotted = PLOTS[run.kind]?.(found);
  return [plotted, startsIn(run, found), ...found.tables.map(tableOf), drawnOf(run, found)].flat().filter(Boolean);
}

// The boards that a generator has found, the hardest starts of a study, or those of a list that have a way to the goal,
// drawn.
const STARTS = {
  generate: ({rows}) => rows,
  boards: ({starts}) => starts,
  starts: ({rows}) => rows.filter(({moves}) => moves !== null).map(row => ({...row, board: row.start})),
};

function startsIn(run, summary) {
  const found = STARTS[run.kind]?.(summary) ?? [];
  return found.length > 0 && card("Boards to play", h("div", {class: "central"}, startsOf(run, found.slice(0, DRAWN))));
}

const card = (title, ...content) => h("section", {class: "card"}, h("h2", {}, title), ...content);
const keyed = (key, element) => Object.assign(element, {key});

const curve = (title, words, points) => points.length > 1 && card(title, new Curve(words, points).element);
const bars = (title, words, counts) => counts.length > 1
  && card(title, new Histogram({title, ...words}).show(counts).element);
const scored = rows => rows.map(({seconds, score}) => [seconds, score]);

const PLOTS = {
  study: ({sizes = []}) => {
    const points = sizes.flatMap(size => Object.values(size.goals).slice(0, 1).filter(goal => goal.moves)
      .map(goal => [Object.values(size)[0], goal.moves.mean, goal.moves.low, goal.moves.high]));
    const [size] = Object.keys(sizes[0] ?? {size: 0});
    return curve(`Moves of the solvable deals, by ${size}`, {across: size, up: "mean number of moves"}, points);
  },
  hunt: ({records = [], objective = "score"}) =>
    curve(`Records of ${objective} over time`, {across: "seconds", up: objective, stairs: true}, scored(records)),
  optimise: ({tables}) => curve("Score of each round over time", {across: "seconds", up: "score", stairs: true},
    scored(tables.find(({name}) => name === "rounds")?.rows ?? [])),
  sizes: ({rows = []}) => curve("Moves from the start to the farthest configuration, by size",
    {across: "size", up: "moves"}, rows.map(({size, depth}) => [size, depth])),
  boards: ({diameters = {}}) => bars("Components of each diameter", {bar: "diameter", of: "components"},
    Array.from({length: Math.max(0, ...Object.keys(diameters).map(Number)) + 1},
      (_, diameter) => diameters[diameter] ?? 0)),
  tree: ({layers = []}) =>
    bars("Levels", {bar: "level", of: "placings", title: "Placings on each level of the tree"}, layers),
};

// Draws the farthest pair of a study of boards, or the hardest deal of a hunt.
function drawnOf(run, {pair, best}) {
  const texts = pair ?? (best?.deal ? [best.deal] : []);
  const boards = texts.map(text => drawn(startOf({...run, start: text}), text));
  return boards.length > 0 && card(pair ? "The farthest pair" : "The hardest deal",
    h("div", {class: "pair"}, h("div", {class: "two"}, boards)),
    texts.map(text => h("p", {class: "small"}, h("code", {}, text))));
}

// What each expander of a run has done: threads of its process, workers, hosts.
export function expandersOf({work_log: done}) {
  const rows = (done?.expanders ?? [])
    .map(({name, chunks, configurations, seconds, sent, received}) => ({expander: name ?? "threads",
    chunks, configurations, seconds: duration(seconds), sent: bytes(sent), received: bytes(received)}));
  const here = done?.here && h("p", {}, `Expanded here, because ${done.here}.`);
  const rest = done?.repeated > 0 && `${counted(done.repeated, "chunk")} sent again.`;
  return tableOf({name: "expanded by", rows, rest}) ?? (here && card("Expanded by", here));
}

// The work of each host that keeps ranges; for hosts that still keep the run, also whether they are alive.
export function keptOf({work_log: done, keepers = [], living}) {
  const kept = done?.kept;
  if (!kept) return null;
  const state = host => (keepers.includes(host) && living
    ? {state: living.some(found => found.host === host) ? "alive" : "away"} : {});
  const rows = kept.hosts.map(({host, ranges, threads, configurations, stored, sent, received, waited}) =>
    ({host, ...state(host), ranges, threads, configurations,
    "on disk": bytes(stored), sent: bytes(sent), received: bytes(received), waited: duration(waited)}));
  const {slowest_over_mean: times, slowest_layer: layer} = kept;
  const rest = times && layer
    && `The slowest host took ${times.toFixed(2)} times the mean, most in layer ${layer.depth}, `
    + `where ${layer.host} took ${duration(layer.seconds)} and the mean was ${duration(layer.mean)}.`;
  return tableOf({name: "hosts", rows, rest});
}

export function tableOf({name, title, rows, rest}) {
  if (!rows.length) return null;
  const columns = Object.keys(rows[0]);
  const words = title || name;
  const text = column => rows.some(row =>
    typeof row[column] === "string" && !/^[\d., %-]*([kMG]?B|m?s)?$/.test(row[column])) && "text";
  return keyed(`table ${name}`, card(words[0].toUpperCase() + words.slice(1),
    h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": words}, h("table", {},
      h("thead", {}, h("tr", {},
        columns.map(column => h("th", {scope: "col", class: text(column)}, column.replaceAll("_", " "))))),
      h("tbody", {}, rows.map(row => h("tr", {}, columns.map(column => h("td", {class: text(column)},
        typeof row[column] === "number" ? number(row[column]) : row[column] ?? "–"))))))),
    rest && h("p", {class: "muted"}, rest)));
}
