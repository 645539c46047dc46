// The tables of a run, as its kind of run defines them, with a plot.

import {get} from "../lib/api.js";
import {bytes, counted, duration, h, number, put} from "../lib/dom.js";
import {Curve} from "../charts/curve.js";
import {Histogram} from "../charts/histogram.js";
import {startOf, startsOf} from "./pictures.js";
import {still} from "../picture/shapes.js";

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

// The boards that a generator has found, the hardest starts of a study, or those of a list that have a way to the goal, drawn.
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

const PLOTS = {
  study: ({sizes = []}) => {
    const points = sizes.flatMap(size => Object.values(size.goals).slice(0, 1).filter(goal => goal.moves).map(goal => [Object.values(size)[0], goal.moves.mean, goal.moves.low, goal.moves.high]));
    const [size] = Object.keys(sizes[0] ?? {size: 0});
    return points.length > 1 && card(`Moves of the solvable deals, by ${size}`, new Curve({across: size, up: "mean number of moves"}, points).element);
  },
  hunt: ({records = [], objective = "score"}) => {
    if (records.length < 2) return null;
    return card(`Records of ${objective} over time`, new Curve({across: "seconds", up: objective, stairs: true}, records.map(({seconds, score}) => [seconds, score])).element);
  },
  optimise: ({tables}) => {
    const rounds = tables.find(({name}) => name === "rounds")?.rows ?? [];
    return rounds.length > 1 && card("Score of each round over time", new Curve({across: "seconds", up: "score", stairs: true}, rounds.map(({seconds, score}) => [seconds, score])).element);
  },
  sizes: ({rows = []}) => {
    const points = rows.map(({size, depth}) => [size, depth]);
    return points.length > 1 && card("Moves from the start to the farthest configuration, by size", new Curve({across: "size", up: "moves"}, points).element);
  },
  boards: ({diameters = {}}) => {
    const counts = Array.from({length: Math.max(0, ...Object.keys(diameters).map(Number)) + 1}, (_, diameter) => diameters[diameter] ?? 0);
    return counts.length > 1 && card("Components of each diameter", new Histogram({bar: "diameter", of: "components", title: "Components of each diameter"}).show(counts).element);
  },
  tree: ({layers = []}) => {
    if (layers.length < 2) return null;
    return card("Levels", new Histogram({bar: "level", of: "placings", title: "Placings on each level of the tree"}).show(layers).element);
  },
};

// Draws the farthest pair of a study of boards, or the hardest deal of a hunt.
function drawnOf(run, {pair, best}) {
  const texts = pair ?? (best?.deal ? [best.deal] : []);
  if (!texts.length) return null;
  const boards = texts.map(text => {
    const place = h("div", {});
    startOf({...run, start: text}).then(found => put(place, still(found.picture, text))).catch(error => put(place, error.message));
    return place;
  });
  return card(pair ? "The farthest pair" : "The hardest deal", h("div", {class: "pair"}, h("div", {class: "two"}, boards)),
    texts.map(text => h("p", {class: "small"}, h("code", {}, text))));
}

// What each expander of a run has done: threads of its process, workers, hosts.
export function expandersOf({work_log: done}) {
  const rows = (done?.expanders ?? []).map(({name, chunks, configurations, seconds, sent, received}) => ({expander: name ?? "threads",
    chunks, configurations, seconds: duration(seconds), sent: bytes(sent), received: bytes(received)}));
  const here = done?.here && h("p", {}, `Expanded here, because ${done.here}.`);
  const rest = done?.repeated > 0 && `${counted(done.repeated, "chunk")} sent again.`;
  return tableOf({name: "expanded by", rows, rest}) ?? (here && card("Expanded by", here));
}

// The work of each host that keeps ranges; for hosts that still keep the run, also whether they are alive.
export function keptOf({work_log: done, keepers = [], living}) {
  const kept = done?.kept;
  if (!kept) return null;
  const state = host => (keepers.includes(host) && living ? {state: living.some(found => found.host === host) ? "alive" : "away"} : {});
  const rows = kept.hosts.map(({host, ranges, threads, configurations, stored, sent, received, waited}) => ({host, ...state(host), ranges, threads, configurations,
    "on disk": bytes(stored), sent: bytes(sent), received: bytes(received), waited: duration(waited)}));
  const {slowest_over_mean: times, slowest_layer: layer} = kept;
  const rest = times && layer && `The slowest host took ${times.toFixed(2)} times the mean, most in layer ${layer.depth}, where ${layer.host} took ${duration(layer.seconds)} and the mean was ${duration(layer.mean)}.`;
  return tableOf({name: "hosts", rows, rest});
}

export function tableOf({name, title, rows, rest}) {
  if (!rows.length) return null;
  const columns = Object.keys(rows[0]);
  const words = title || name;
  const text = column => rows.some(row => typeof row[column] === "string" && !/^[\d., %-]*([kMG]?B|m?s)?$/.test(row[column])) && "text";
  return keyed(`table ${name}`, card(words[0].toUpperCase() + words.slice(1),
    h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": words}, h("table", {},
      h("thead", {}, h("tr", {}, columns.map(column => h("th", {scope: "col", class: text(column)}, column.replaceAll("_", " "))))),
      h("tbody", {}, rows.map(row => h("tr", {}, columns.map(column => h("td", {class: text(column)}, typeof row[column] === "number" ? number(row[column]) : row[column] ?? "–"))))))),
    rest && h("p", {class: "muted"}, rest)));
}
