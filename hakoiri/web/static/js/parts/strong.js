// The strong components of a directed run, and the moves between them.

import {button, counted, h, number, put} from "../lib/dom.js";
import {factsOf} from "./fields.js";
import {patiently} from "./life.js";
import {pairOf} from "./pictures.js";
import {tableOf} from "./tables.js";

// The numbers of components drawn at first and fetched, and of rows in the table.
const [DRAWN, MOST, ROWS] = [4, 1000, 50];

export async function strongOf(place, run) {
  const below = h("div", {});
  put(place, h("section", {class: "card"}, h("h2", {}, "Strong components"), below));
  await patiently(below, ["runs", run.run, "components", "strong"], {limit: MOST})
    .then(found => put(place, ...told(run, found)))
    .catch(error => put(below, h("p", {class: "reason", role: "alert"}, error.message),
      h("p", {class: "row"}, button("Compute", () => strongOf(place, run)))));
}

function told(run, found) {
  const facts = [["configurations", found.configurations], ["weak components", found.weak_components],
    ["strong components", found.strong_components],
    ["with one configuration", found.single], ["pairs joined by moves", found.condensation_edges],
    ["sources", found.sources], ["sinks", found.sinks]];
  const drawn = h("div", {class: "pairs"});
  const more = button("", () => draw(drawn.children.length + 10 * DRAWN));
  const draw = most => {
    drawn.append(...found.components.slice(drawn.children.length, most).map(one => oneOf(run, one)));
    more.hidden = drawn.children.length >= found.components.length;
    more.textContent = `${number(found.components.length - drawn.children.length)} more`;
  };
  draw(DRAWN);
  const rows = found.histogram.map(({count, size, diameter}) => ({components: count, size, diameter}));
  const left = rows.length > ROWS ? `and ${number(rows.length - ROWS)} more` : "";
  return [h("section", {class: "card"},
    h("h2", {}, "Strong components"),
    h("p", {class: "muted"},
      "In a strong component, every configuration reaches every other. ",
      "Between strong components, moves lead from sources to sinks and never back."),
    factsOf(facts.map(([name, value]) => [name, number(value)])),
    found.components.length > 0 && [h("h3", {}, "The largest, each with a farthest pair"), drawn, more]),
    rows.length > 0 && tableOf({name: "sizes", title: "strong components by size and diameter",
      rows: rows.slice(0, ROWS), rest: left}),
  ];
}

function oneOf(run, one) {
  const figure = pairOf(run, [one.from, one.to], one.diameter);
  figure.prepend(h("p", {class: "muted"}, `Component ${number(one.component)}: ${counted(one.size, "configuration")}`));
  return figure;
}
