// Fields of forms, choices, and figures with their names.

import {address, h} from "../lib/dom.js";
import {valueOf} from "./families.js";

export function field(id, words, input, help) {
  input.id = id;
  if (help) input.setAttribute("aria-describedby", `${id}-help`);
  return h("div", {class: "field"}, h("label", {for: id}, words), input,
    help && h("small", {id: `${id}-help`, class: "muted"}, help));
}

export function check(id, words) {
  const input = h("input", {type: "checkbox", id});
  return {input, element: h("label", {class: "check"}, input, ` ${words}`)};
}

export const numeric = (value, least, most = null) =>
  h("input", {type: "number", value, min: least, max: most, required: value !== null});

export const choices = (values, chosen, worded = value => value) =>
  h("select", {}, values.map(value => h("option", {value, selected: value === chosen}, worded(value))));

// An option of a puzzle: one of its values, a number between two bounds, or any text.
export const control = ({name, default: usual, values, least, most}) =>
  (values ? choices(values, usual, value => valueOf(name, value))
  : least !== null ? numeric(usual, least, most)
    : h("input", {value: usual, spellcheck: "false", autocapitalize: "off"}));

const TERMS = {
  configurations: "configuration", layers: "layer", "nearest goal": "goal", components: "component",
  diameter: "diameter", radius: "eccentricity", "in the centre": "centre",
  "in the periphery": "eccentricity", "diametral pairs": "diameter", digest: "digest", eccentricity: "eccentricity",
  "forced moves": "forced-move", "dead ends": "dead-end", "moves at a step": "branching",
};

// `figures` are [name, value, wide]. A page that is handed on has no glossary.
export const factsOf = figures => h("dl", {class: "facts", key: "facts"},
  figures.map(([name, value, wide]) => h("div", {key: name, class: wide ? "wide" : null},
  h("dt", {}, TERMS[name] && document.getElementById("theme")
    ? h("a", {class: "term", href: address(["glossary"], {at: TERMS[name]})}, name) : name), h("dd", {}, value))));

let names = 0;

// `values` are pairs of a value and its words; `changed` is called with the value that is chosen.
export function choice(title, values, chosen, changed) {
  const name = `choice-${++names}`;
  return h("fieldset", {class: "switch"}, h("legend", {class: "unseen"}, title),
    values.map(([value, words]) => h("label", {},
    h("input", {type: "radio", name, checked: value === chosen, onchange: () => changed(value)}),
    h("span", {}, words))));
}

// Linear or logarithmic, for a chart.
export const scaleSwitch = changed => choice("Scale", [[false, "linear"], [true, "log"]], false, changed);
