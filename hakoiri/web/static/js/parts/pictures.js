// Pictures of configurations of a run.

import {get} from "../lib/api.js";
import {h, put} from "../lib/dom.js";
import {counted} from "../lib/format.js";
import {still} from "../picture/shapes.js";
import {address} from "../router.js";

// A configuration, linked to its board.
export function linked(run, configuration) {
  const link = h("a", {href: address(["runs", run.run, "board"], {at: configuration}), "aria-label": `Analyse ${configuration}`});
  get(["runs", run.run, "pictures", configuration])
    .then(found => put(link, still(found.picture, configuration)))
    .catch(error => put(link, error.message));
  return link;
}

// A board to choose: its picture, and what is said and done below it.
export const choosable = (picture, ...below) => h("figure", {}, picture, h("figcaption", {}, below));

// Boards of a run to choose from, each to be played.
export const boardsOf = (run, configurations) => configurations.map(text => choosable(linked(run, text),
  h("a", {class: "button", href: address(["runs", run.run, "play"], {at: text})}, "Play")));

// Two configurations side by side, `moves` apart, with a link that plays the path between them.
export function pairOf(run, [from, to], moves) {
  return h("figure", {class: "pair"}, h("div", {class: "two"}, linked(run, from), linked(run, to)),
    h("figcaption", {}, h("a", {class: "button", href: address(["runs", run.run, "board"], {from, to})}, `Play the path of ${counted(moves, "move")}`)));
}

const starts = new Map();

// The start of a run, by default that of its puzzle: its text and picture. Fetched once.
export function startOf(run) {
  const query = {conf: run.start ?? run.board, o: Object.entries(run.parameters).map(option => option.join("="))};
  const words = [run.puzzle, JSON.stringify(query)].join(" ");
  if (!starts.has(words)) {
    starts.set(words, get(["boards", `${run.puzzle}.json`], query));
    starts.get(words).catch(() => starts.delete(words));
  }
  return starts.get(words);
}

// Calls `act` when the element comes into view, so that a long list fetches only visible boards.
export function whenSeen(element, act) {
  const observer = new IntersectionObserver(seen => {
    if (!seen.some(({isIntersecting}) => isIntersecting)) return;
    observer.disconnect();
    act();
  });
  observer.observe(element);
}
