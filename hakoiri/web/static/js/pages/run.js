// One run: its name and state on top, below them the chosen view.

import {get, part} from "../lib/api.js";
import {address, button, h, put} from "../lib/dom.js";
import {calledOf, valueOf} from "../parts/families.js";
import {lifeButtons, stateBadge, whyOf} from "../parts/life.js";

const listed = name => import("./lists.js").then(found => ({show: found[name]}));

// The views, and what a run must be able to answer for them; each module is fetched on demand. That of a layer is shown
// once it was asked for.
const TABS = [
  {name: "", words: "Overview", page: () => import("./overview.js")},
  {name: "play", words: "Play", can: "positions", page: () => import("./play.js")},
  {name: "board", words: "Analyse", can: "positions", page: () => import("./play.js")},
  {name: "hardest", words: "Hardest", can: "hardest", page: () => import("./hardest.js")},
  {name: "layer", words: "Layer", asked: true, page: () => listed("layer")},
  {name: "components", words: "Components", can: "components", page: () => import("./components.js")},
  {name: "map", words: "Map", can: "map", page: () => import("./map.js")},
  {name: "solutions", words: "Solutions", can: "solutions", page: () => listed("solutions")},
  {name: "best", words: "Best play", can: "play", page: () => import("./best.js")},
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
  let drawn = null;
  let requests = 0;
  const draw = async found => {
    drawn = stage(found);
    drawHead(head, found, tab, redraw, await calledOf(found));
  };
  // Draws the head anew, unless it shows a run at the same stage already.
  const redraw = async seen => {
    if (seen && stage(seen) === drawn) return;
    const mine = ++requests;
    const found = await get(["runs", name]);
    // Answers may arrive in another order than their requests.
    if (mine === requests) await draw(found);
  };
  await draw(run);
  const {show: showView} = await view;
  return showView(below, {run, query, redraw, tab: tab.name}, current).catch(error => {
    const again = () => show(place, {path: ["runs", name, asked], query}, current);
    put(below, h("p", {class: "reason", role: "alert"}, error.message),
      h("p", {class: "row"}, button("Try again", again)));
  });
}

// What a run can answer changes with its status, and with its first layer.
const stage = ({status, configurations}) => `${status} ${configurations > 0}`;

function drawHead(head, run, tab, redraw, called) {
  const tabs = TABS.filter(found => found === tab || (!found.asked && (!found.can || run.can.includes(found.can))));
  const options = Object.entries(run.parameters).filter(([name, value]) => value && name !== "goal")
    .map(([name, value]) => `${name}: ${valueOf(name, value)}`);
  const gone = () => redraw().catch(() => { location.hash = "#/runs"; });
  put(head,
    h("div", {key: "heading", class: "heading"},
      h("h1", {}, called, h("small", {}, ` ${options.join(", ")}`)),
      h("div", {class: "row"}, stateBadge(run), ...lifeButtons(run, gone, called))),
    whyOf(run),
    // What the puzzle remarked on when the run was made in this tab.
    h("p", {class: "muted small"}, sessionStorage.getItem(run.run)),
    tabs.length > 1 && h("nav", {key: "tabs", class: "tabs", "aria-label": "Views"},
      tabs.map(({name, words}) => h("a", {key: words, href: address(["runs", run.run, ...(name ? [name] : [])]),
        "aria-current": name === tab.name ? "page" : null}, words))));
  // If not all tabs fit, scroll to the current one.
  head.querySelector('[aria-current="page"]')?.scrollIntoView({inline: "center", block: "nearest"});
}
