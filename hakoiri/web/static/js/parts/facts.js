// Figures with their names; terms of the glossary lead there.

import {h} from "../lib/dom.js";
import {address} from "../router.js";

const TERMS = {
  configurations: "configuration", layers: "layer", "nearest goal": "goal", components: "component", diameter: "diameter", radius: "eccentricity", "in the centre": "centre",
  "in the periphery": "eccentricity", "diametral pairs": "diameter", digest: "digest", eccentricity: "eccentricity", "forced moves": "forced-move", "dead ends": "dead-end", "moves at a step": "branching",
};

// `figures` are [name, value, wide]. A page that is handed on has no glossary.
export const factsOf = figures => h("dl", {class: "facts"}, figures.map(([name, value, wide]) => h("div", {class: wide ? "wide" : null},
  h("dt", {}, TERMS[name] && document.getElementById("theme") ? h("a", {class: "term", href: address(["glossary"], {at: TERMS[name]})}, name) : name), h("dd", {}, value))));
