// The hardest positions of a run: the configurations farthest from their nearest goal, as boards to play.

import {get} from "../lib/api.js";
import {button, counted, h, number, put} from "../lib/dom.js";
import {Histogram} from "../charts/histogram.js";
import {patiently} from "../parts/life.js";
import {boardsOf} from "../parts/pictures.js";

const [FIRST, MOST] = [12, 1000];
// Up to this size the distances are computed at once.
const QUICK = 200000;

export async function show(place, {run}, current, limit = FIRST) {
  const found = async () =>
    draw(place, run, current, await patiently(place, ["runs", run.run, "hardest"], {limit}), limit);
  if (run.configurations <= QUICK || await isKnown(run)) {
    await found();
    return;
  }
  if (!current()) return;
  put(place, h("section", {class: "card"},
    h("p", {}, `The distances of all ${number(run.configurations)} configurations to the nearest goal `,
      "are not known yet. A run of its own finds them."),
    h("p", {class: "row"}, button("Compute all",
      () => found().catch(error => put(place, h("p", {class: "reason", role: "alert"}, error.message)))))));
}

// Whether a run has found the distances: GET begins none.
const isKnown = run => get(["runs", run.run, "hardest"], {limit: 1}).then(({count}) => count > 0, () => false);

function draw(place, run, current, found, limit) {
  if (!current()) return;
  const {configurations, count, distance, dead, layers} = found;
  const more = configurations.length < Math.min(count, MOST);
  put(place, h("section", {class: "card"},
    h("h2", {}, `${counted(distance, "move")} to the nearest goal: ${counted(count, "configuration")}`),
    dead > 0 && h("p", {class: "muted"}, `${counted(dead, "configuration")} cannot reach a goal.`),
    h("div", {class: "central"}, boardsOf(run, configurations)),
    more && h("p", {class: "row"},
      button(`More of ${number(count)}`, () => show(place, {run}, current, Math.min(MOST, 4 * limit))))),
  h("section", {class: "card"}, h("h2", {}, "Distances to the nearest goal"),
    new Histogram({bar: "distance", of: "configurations",
      title: "Configurations at each distance from the goal"}).show(layers).element));
}
