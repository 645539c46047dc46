// Linear or logarithmic, for a chart.

import {h} from "../lib/dom.js";

let names = 0;

export function scaleSwitch(changed) {
  const name = `scale-${++names}`;
  const choice = (words, value) => h("label", {}, h("input", {type: "radio", name, checked: !value, onchange: () => changed(value)}), h("span", {}, words));
  return h("fieldset", {class: "switch"}, h("legend", {class: "unseen"}, "Scale"), choice("linear", false), choice("log", true));
}
