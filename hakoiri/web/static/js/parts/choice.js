// A choice of one value, as buttons side by side.

import {h} from "../lib/dom.js";

let names = 0;

// `values` are pairs of a value and its words; `changed` is called with the value that is chosen.
export function choice(title, values, chosen, changed) {
  const name = `choice-${++names}`;
  return h("fieldset", {class: "switch"}, h("legend", {class: "unseen"}, title), values.map(([value, words]) => h("label", {},
    h("input", {type: "radio", name, checked: value === chosen, onchange: () => changed(value)}), h("span", {}, words))));
}

// Linear or logarithmic, for a chart.
export const scaleSwitch = changed => choice("Scale", [[false, "linear"], [true, "log"]], false, changed);
