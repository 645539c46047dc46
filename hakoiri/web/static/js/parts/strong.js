// The strong components of a run whose moves cannot all be taken back, and how moves join them.

import {button, h, put} from "../lib/dom.js";
import {counted, number} from "../lib/format.js";
import {pairOf} from "./pictures.js";
import {tableOf} from "./tables.js";
import {patiently} from "./waiting.js";

// Components that are drawn at first, those that are asked for, and kinds of them in the table.
const [DRAWN, MOST, KINDS] = [4, 1000, 50];

export async function strongOf(place, run) {
  const below = h("div", {});
  put(place, h("section", {class: "card"}, h("h2", {}, "Moves lead one way"), below));
  try {
    const found = await patiently(below, ["runs", run.run, "components", "strong"], {limit: MOST});
    put(place, ...told(run, found));
  } catch (error) {
    put(below, h("p", {class: "reason", role: "alert"}, error.message), h("p", {class: "row"}, button("Compute", () => strongOf(place, run))));
  }
}

function told(run, found) {
  const facts = [["configurations", found.configurations], ["weak components", found.weak_components], ["strong components", found.strong_components],
    ["of one configuration", found.single], ["pairs that moves join", found.condensation_edges], ["sources", found.sources], ["sinks", found.sinks]];
  const drawn = h("div", {class: "pairs"});
  const more = button("", () => draw(drawn.children.length + 10 * DRAWN));
  const draw = most => {
    drawn.append(...found.components.slice(drawn.children.length, most).map(one => oneOf(run, one)));
    more.hidden = drawn.children.length >= found.components.length;
    more.textContent = `${number(found.components.length - drawn.children.length)} more`;
  };
  draw(DRAWN);
  const kinds = found.histogram.map(({count, size, diameter}) => ({components: count, size, diameter}));
  const left = kinds.length > KINDS ? `and ${number(kinds.length - KINDS)} kinds more` : "";
  return [h("section", {class: "card"},
    h("h2", {}, "Moves lead one way"),
    h("p", {class: "muted"}, "Configurations that all lead to each other are a strong component. Taken as one each, moves lead from sources to sinks and never back."),
    h("dl", {class: "facts"}, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, number(value))))),
    found.components.length > 0 && [h("h3", {}, "The largest, each with two that are farthest apart"), drawn, more]),
    kinds.length > 0 && tableOf({name: "kinds", title: "how many there are of each kind", rows: kinds.slice(0, KINDS), rest: left}),
  ];
}

function oneOf(run, one) {
  const figure = pairOf(run, [one.from, one.to], one.diameter);
  figure.prepend(h("p", {class: "muted"}, `Component ${number(one.component)}: ${counted(one.size, "configuration")}`));
  return figure;
}
