// Boards of a run in lists: those of a layer, and the solutions of a tree.

import {get} from "../lib/api.js";
import {address, button, counted, h, number, put} from "../lib/dom.js";
import {boardsOf} from "../parts/pictures.js";
import {still} from "../picture/shapes.js";

const LISTED = 12;

// The configurations of one layer as boards to play, in the order of their keys.
export async function layer(place, {run, query}, current) {
  const depth = Number(query.n ?? 0);
  const fetched = after => get(["runs", run.run, "layers", String(depth)], {limit: LISTED, after});
  const found = await fetched();
  if (!current()) return;
  const boards = h("div", {class: "central"}, boardsOf(run, found.configurations));
  const more = h("p", {class: "row"});
  const offer = next => put(more, next && button("More", async () => {
    const further = await fetched(next);
    boards.append(...boardsOf(run, further.configurations));
    offer(further.next);
  }));
  offer(found.next);
  const other = (which, words) => which >= 0 && which <= run.depth
    && h("a", {class: "button", href: address(["runs", run.run, "layer"], {n: String(which)})}, words);
  put(place, h("section", {class: "card"},
    h("div", {class: "heading"}, h("h2", {}, `Layer ${number(depth)}: ${counted(found.size, "configuration")}`),
      h("div", {class: "row"}, other(depth - 1, "‹ Before"), other(depth + 1, "Next ›"))),
    boards, more));
}

const [FIRST, MOST] = [12, 200];

// The solutions of a tree, drawn: magic stars as stars.
export async function solutions(place, {run}, current, limit = FIRST) {
  const found = await get(["runs", run.run, "solutions"], {limit});
  if (!current()) return;
  const shown = found.solutions.length;
  put(place,
    h("p", {class: "muted"},
      `${number(shown)} of ${counted(found.orbits, "orbit")}, each of ${counted(found.symmetries, "image")}`),
    h("div", {class: "stars"}, found.solutions.map((text, index) => h("figure", {class: "card"},
      still(found.pictures[index], text), h("figcaption", {}, h("code", {}, text))))),
    shown < Math.min(found.orbits, MOST)
      && button("More", () => solutions(place, {run}, current, Math.min(MOST, limit * 4))));
}
