// One run: its name and state on top, below them the chosen view.

import {get, part} from "../lib/api.js";
import {address, button, h, put} from "../lib/dom.js";
import {calledOf, valueOf} from "../parts/families.js";
import {lifeButtons, stateBadge, whyOf} from "../parts/life.js";

const listed = name => import("./lists.js").then(found => ({show: found[name]}));

// The views and the kinds of run that have them; each module is fetched on demand.
const TABS = [
  {name: "", words: "Overview", kinds: null, page: () => import("./overview.js")},
  {name: "play", words: "Play", kinds: ["explore", "census"], page: () => import("./play.js")},
  {name: "board", words: "Analyse", kinds: ["explore", "census"], page: () => import("./play.js")},
  {name: "hardest", words: "Hardest", kinds: ["explore", "census"], has: run => run.kind === "census" || run.goal_depth !== null, page: () => import("./hardest.js")},
  {name: "layer", words: "Layer", kinds: ["explore"], has: (run, tab) => tab.name === "layer", page: () => listed("layer")},
  {name: "components", words: "Components", kinds: ["explore", "census"], page: () => import("./components.js")},
  {name: "map", words: "Map", kinds: ["explore", "census"], page: () => import("./map.js")},
  {name: "solutions", words: "Solutions", kinds: ["tree"], page: () => listed("solutions")},
  {name: "best", words: "Best play", kinds: ["explore", "optimise"], of: "optimise", page: () => import("./best.js")},
];

export async function show(place, {path: [, name, asked = ""], query}, current) {
  const tab = TABS.find(found => found.name === asked);
  // Fetched beside the run.
  const view = tab && part(tab.page);
  view?.catch(() => {});
  const run = await get(["runs", name]);
  if (!tab) throw new Error(`run ${run.run} has no page ${asked}`);
  const head = h("div", {class: "run-head"});
  const below = h("div", {});
  put(place, head, below);
  if (!current()) return null;
  // What names the run is fetched beside the puzzle's kinds.
  const [offered] = await Promise.all([kindsOf(run.puzzle), calledOf(run)]);
  let drawn = null;
  let requests = 0;
  const draw = async found => {
    drawn = found.status;
    drawHead(head, found, tab, offered, redraw, await calledOf(found));
  };
  // Draws the head anew, unless it shows the given status already.
  const redraw = async status => {
    if (status === drawn) return;
    const mine = ++requests;
    const found = await get(["runs", name]);
    // Answers may arrive in another order than their requests.
    if (mine === requests) await draw(found);
  };
  await draw(run);
  const {show: showView} = await view;
  try {
    return await showView(below, {run, query, redraw, tab: tab.name}, current);
  } catch (error) {
    const again = () => show(place, {path: ["runs", name, asked], query}, current);
    put(below, h("p", {class: "reason", role: "alert"}, error.message), h("p", {class: "row"}, button("Try again", again)));
    return null;
  }
}

// The kinds of run of a puzzle; none if the server was not started with it.
const known = new Map();

async function kindsOf(puzzle) {
  if (!known.has(puzzle)) known.set(puzzle, await get(["puzzles", puzzle]).then(({kinds}) => kinds, () => []));
  return known.get(puzzle);
}

function drawHead(head, run, tab, offered, redraw, called) {
  const tabs = TABS.filter(({kinds, of, has}) => (!kinds || kinds.includes(run.kind)) && (!of || offered.includes(of)) && (!has || has(run, tab)));
  const gone = async () => {
    try {
      await redraw();
    } catch {
      location.hash = "#/runs";
    }
  };
  put(head,
    h("div", {key: "heading", class: "heading"},
      h("h1", {}, called, h("small", {}, ` ${Object.entries(run.parameters).filter(([name, value]) => value && name !== "goal").map(([name, value]) => `${name}: ${valueOf(name, value)}`).join(", ")}`)),
      h("div", {class: "row"}, stateBadge(run), ...lifeButtons(run, gone, called))),
    whyOf(run),
    // What the puzzle remarked on when the run was made in this tab.
    h("p", {class: "muted small"}, sessionStorage.getItem(run.run)),
    tabs.length > 1 && h("nav", {key: "tabs", class: "tabs", "aria-label": "Views"},
      tabs.map(({name, words}) => h("a", {key: words, href: address(["runs", run.run, ...(name ? [name] : [])]), "aria-current": name === tab.name ? "page" : null}, words))));
  // If not all tabs fit, scroll to the current one.
  head.querySelector('[aria-current="page"]')?.scrollIntoView({inline: "center", block: "nearest"});
}
