// Pictures of configurations of a run, as they stand.

import {get} from "../lib/api.js";
import {h, put} from "../lib/dom.js";
import {counted} from "../lib/format.js";
import {still} from "../picture/shapes.js";
import {address} from "../router.js";

// One configuration of a run, which leads to its board.
export function linked(run, configuration) {
  const link = h("a", {href: address(["runs", run.run, "board"], {at: configuration}), "aria-label": `Play ${configuration}`});
  get(["runs", run.run, "pictures", configuration])
    .then(found => put(link, still(found.picture, configuration)))
    .catch(error => put(link, error.message));
  return link;
}

// Two of them side by side, so many moves apart, with the walk from one to the other.
export function pairOf(run, [from, to], moves) {
  return h("figure", {class: "pair"}, h("div", {class: "two"}, linked(run, from), linked(run, to)),
    h("figcaption", {}, h("a", {class: "button", href: address(["runs", run.run, "board"], {from, to})}, `Walk the ${counted(moves, "move")}`)));
}

const starts = new Map();

// What a run begins with, or its puzzle where that is the same for all: its text and picture. Asked for once.
export function startOf(run) {
  const query = {conf: run.start ?? run.board, o: Object.entries(run.parameters).map(option => option.join("="))};
  const words = [run.puzzle, JSON.stringify(query)].join(" ");
  if (!starts.has(words)) {
    starts.set(words, get(["boards", `${run.puzzle}.json`], query));
    starts.get(words).catch(() => starts.delete(words));
  }
  return starts.get(words);
}
