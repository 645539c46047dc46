// The distances in one component: diameter, farthest pairs, centre and eccentricities.

import {button, counted, h, number, put} from "../lib/dom.js";
import {Histogram} from "../charts/histogram.js";
import {factsOf} from "./fields.js";
import {patiently} from "./life.js";
import {linked, pairOf} from "./pictures.js";

// The numbers of pairs and of central configurations shown at first.
const [PAIRS, CENTRAL] = [4, 6];
// Components and runs up to these sizes have their eccentricities computed at once.
const [QUICK, QUICK_RUN] = [50000, 200000];

// Draws into `place` while `current` returns true.
export async function distancesOf(place, run, row, current) {
  const below = h("div", {});
  const ask = all => patiently(below, ["runs", run.run, "components", String(row.component), "diameter"],
    all ? {all: true} : {});
  const every = () => button("Compute all eccentricities", () => find(true));

  async function find(all) {
    try {
      const found = await ask(all);
      if (!current()) return;
      put(place, ...told(run, found));
      if (found.eccentricities !== null || found.size < 2) return;
      const quick = found.size <= QUICK && run.configurations <= QUICK_RUN;
      place.append(put(below, h("h3", {}, "Centre and eccentricities"),
        quick ? h("p", {class: "muted"}, "computing …") : h("p", {class: "row"}, every())));
      if (quick) await find(true);
    } catch (error) {
      if (current()) {
        put(below, h("p", {class: "reason", role: "alert"}, error.message), proved(error.bounds),
          h("p", {class: "row"}, error.status !== 409 && button("Try again", () => find(all)), !all && every()));
      }
    }
  }

  put(place, h("h2", {}, `Component ${number(row.component)}`), below);
  await find(false);
}

const proved = bounds => bounds && h("p", {class: "muted"},
  `The diameter is between ${number(bounds[0])} and ${number(bounds[1])}. The next attempt continues from there.`);

function told(run, found) {
  const facts = [["diameter", found.diameter], ["radius", found.radius], ["configurations", found.size],
    ["in the centre", found.centre], ["in the periphery", found.periphery], ["diametral pairs", found.pair_count]];
  const alone = found.size === 1;
  return [
    h("h2", {}, `Component ${number(found.component)}`),
    factsOf(facts.map(([name, value]) => [name, number(value)])),
    h("h3", {}, alone ? "A single configuration" : `Farthest pairs: ${counted(found.diameter, "move")} apart`),
    firstOf(found.pairs, PAIRS, pair => pairOf(run, pair, found.diameter), "pairs"),
    ...(alone || !found.central ? [] : [
      h("h3", {}, `Centre: at most ${counted(found.radius, "move")} from every other configuration`),
      found.central.length < found.centre && h("p", {class: "muted"},
        `${number(found.centre)} configurations; ${number(found.central.length)} of them are here.`),
      firstOf(found.central, CENTRAL, text => h("figure", {}, linked(run, text)), "central"),
    ]),
    ...(found.eccentricities && !alone ? farFrom(found.eccentricities) : []),
  ];
}

// Shows the first ones, and the rest on demand.
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
  const chart = new Histogram({bar: "eccentricity", bars: "eccentricities", of: "configurations",
    title: "Configurations by eccentricity"});
  return [h("h3", {}, "Eccentricities"), chart.show(counts, null, first).element];
}
