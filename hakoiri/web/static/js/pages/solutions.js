// The solutions of a tree, drawn: magic stars as stars.

import {get} from "../lib/api.js";
import {button, h, put} from "../lib/dom.js";
import {counted, number} from "../lib/format.js";
import {still} from "../picture/shapes.js";

const [FIRST, MOST] = [12, 200];

export async function show(place, {run}, current, limit = FIRST) {
  const found = await get(["runs", run.run, "solutions"], {limit});
  if (!current()) return;
  const shown = found.solutions.length;
  put(place,
    h("p", {class: "muted"}, `${number(shown)} of ${counted(found.orbits, "orbit")}, each of ${counted(found.symmetries, "image")}`),
    h("div", {class: "stars"}, found.solutions.map((text, index) => h("figure", {class: "card"},
      still(found.pictures[index], text), h("figcaption", {}, h("code", {}, text))))),
    shown < Math.min(found.orbits, MOST) && button("More", () => show(place, {run}, current, Math.min(MOST, limit * 4))));
}
