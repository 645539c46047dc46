// The legend of a map's colours.

import {h} from "../lib/dom.js";
import {number} from "../lib/format.js";
import {RAMPS} from "./colours.js";

// The bar has the colours of the scheme, light or dark, that the style of the page gives it.
export function legendOf({least, most}, words, unknown) {
  const bar = h("span", {class: "ramp"});
  for (const [scheme, ramp] of Object.entries(RAMPS)) ramp.forEach((colour, place) => bar.style.setProperty(`--${scheme}-${place}`, colour));
  const stops = RAMPS.light.map((_, place) => `light-dark(var(--light-${place}), var(--dark-${place}))`);
  bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  return [h("figcaption", {}, words), h("span", {}, number(least)), bar, h("span", {}, number(most)), unknown && h("span", {class: "muted"}, "grey: no path")];
}
