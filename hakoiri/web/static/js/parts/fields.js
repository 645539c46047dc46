// Fields of forms.

import {h} from "../lib/dom.js";
import {valueOf} from "./families.js";

export function field(id, words, input, help) {
  input.id = id;
  if (help) input.setAttribute("aria-describedby", `${id}-help`);
  return h("div", {class: "field"}, h("label", {for: id}, words), input, help && h("small", {id: `${id}-help`, class: "muted"}, help));
}

export function check(id, words) {
  const input = h("input", {type: "checkbox", id});
  return {input, element: h("label", {class: "check"}, input, ` ${words}`)};
}

export const numeric = (value, least, most = null) => h("input", {type: "number", value, min: least, max: most, required: true});

// The bounds of an option that is a number, as [least, most], or null.
export function boundsOf({allowed}) {
  const found = /^(-?\d+)\.\.(-?\d+)$/.exec(allowed);
  return found && found.slice(1).map(Number);
}

// `allowed` is the words of an option's values: a|b|c, 1..9, or free text.
export function control(option) {
  const {default: usual, allowed} = option;
  if (/^[^ |]+(\|[^ |]+)+$/.test(allowed)) return h("select", {}, allowed.split("|").map(value => h("option", {value, selected: value === usual}, valueOf(option.name, value))));
  const bounds = boundsOf(option);
  return bounds ? numeric(usual, ...bounds) : h("input", {value: usual, spellcheck: "false", autocapitalize: "off"});
}
