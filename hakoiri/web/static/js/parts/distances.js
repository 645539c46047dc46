// The distances in one component: how far its configurations are apart, the farthest pairs, the centre, and how many are
// how far from the one that is farthest from them.

import {Histogram} from "../charts/histogram.js";
import {button, h, put} from "../lib/dom.js";
import {counted, number} from "../lib/format.js";
import {linked, pairOf} from "./pictures.js";
import {patiently} from "./waiting.js";

// Pairs, and configurations of the centre, that are shown at first.
const [PAIRS, CENTRAL] = [4, 6];
// Up to this many configurations, of a run up to that large, every eccentricity is there in a moment.
const [QUICK, QUICK_RUN] = [50000, 200000];

// Goes into `place` for as long as `current` says that it is wanted.
export async function distancesOf(place, run, row, current) {
  const below = h("div", {});
  const ask = all => patiently(below, ["runs", run.run, "components", String(row.component), "diameter"], all ? {all: true} : {});
  const every = () => button("Compute all eccentricities", () => find(true));

  async function find(all) {
    try {
      const found = await ask(all);
      if (!current()) return;
      put(place, ...told(run, found));
      if (found.eccentricities !== null || found.size < 2) return;
      const quick = found.size <= QUICK && run.configurations <= QUICK_RUN;
      place.append(put(below, h("h3", {}, "The centre, and how far all others are"), quick ? h("p", {class: "muted"}, "computing …") : h("p", {class: "row"}, every())));
      if (quick) await find(true);
    } catch (error) {
      if (current()) put(below, h("p", {class: "reason", role: "alert"}, error.message), proved(error.bounds), h("p", {class: "row"}, error.status !== 409 && button("Ask again", () => find(all)), !all && every()));
    }
  }

  put(place, h("h2", {}, `Component ${number(row.component)}`), below);
  await find(false);
}

const proved = bounds => bounds && h("p", {class: "muted"}, `The diameter is at least ${number(bounds[0])} and at most ${number(bounds[1])}; asked again, it goes on from there.`);

function told(run, found) {
  const facts = [["diameter", found.diameter], ["radius", found.radius], ["configurations", found.size], ["in the centre", found.centre], ["in the periphery", found.periphery], ["diametral pairs", found.pair_count]];
  const alone = found.size === 1;
  return [
    h("h2", {}, `Component ${number(found.component)}`),
    h("dl", {class: "facts"}, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, number(value))))),
    h("h3", {}, alone ? "A configuration alone" : `The farthest apart: ${counted(found.diameter, "move")}`),
    firstOf(found.pairs, PAIRS, pair => pairOf(run, pair, found.diameter), "pairs"),
    ...(alone || !found.central ? [] : [
      h("h3", {}, `The centre: ${counted(found.radius, "move")} at most to any other`),
      firstOf(found.central, CENTRAL, text => h("figure", {}, linked(run, text)), "central"),
    ]),
    ...(found.eccentricities && !alone ? farFrom(found.eccentricities) : []),
  ];
}

// The first ones, and the rest when it is asked for.
function firstOf(things, most, drawn, kind) {
  const list = h("div", {class: kind}, things.slice(0, most).map(drawn));
  const left = things.slice(most);
  const more = left.length > 0 && button(`${number(left.length)} more`, () => {
    list.append(...left.map(drawn));
    more.remove();
  });
  return h("div", {}, list, more);
}

function farFrom(eccentricities) {
  const first = Math.min(...Object.keys(eccentricities).map(Number));
  const last = Math.max(...Object.keys(eccentricities).map(Number));
  const counts = Array.from({length: last - first + 1}, (_, place) => eccentricities[first + place] ?? 0);
  const chart = new Histogram({bar: "distance", of: "configurations", title: "Configurations by the distance to the one farthest from them"});
  return [h("h3", {}, "How far each is from the one farthest from it"), chart.show(counts, null, first).element];
}
