// All puzzles and known boards: picture, name, fewest moves, size of the space, each to be played.

import {post} from "../lib/api.js";
import {address, counted, h, put, short} from "../lib/dom.js";
import {fewestOf, givenOf, nameOf, puzzlesOf, rulesOf} from "../parts/families.js";
import {playButton, startOf, whenSeen} from "../parts/pictures.js";
import {still} from "../picture/shapes.js";

// The options by which a puzzle is known, where its own are others.
const USUAL = {hanoi: {pegs: "3"}};

export async function show(place, where, current) {
  const {puzzles, classics} = await puzzlesOf();
  if (!current()) return;
  const known = classics.map(classic => ({title: classic.title, puzzle: classic.puzzle, given: givenOf(classic),
    words: `Fewest moves: ${fewestOf(classic)}`}));
  const usual = puzzles.filter(({kinds, can}) => !can.includes("needs_start") && kinds.includes("explore"))
    .map(({name, summary}) =>
      ({title: nameOf(name), puzzle: name, given: USUAL[name] ?? {}, words: rulesOf(name) || summary}));
  const list = (title, items) => [h("h2", {}, title), h("ul", {class: "gallery boards"}, items.map(cardOf))];
  put(place, h("section", {}, h("div", {class: "heading"}, h("h1", {}, "Puzzles"),
    h("a", {class: "button strong", href: "#/new/sliding"}, "Draw a board")),
    list("Puzzles", usual), list("Known boards", known)));
}

function cardOf({title, puzzle, given: {start, ...parameters}, words}) {
  const [thumb, size] = [h("div", {class: "thumb"}), h("p", {class: "muted small"})];
  const asked = {puzzle, options: parameters, ...(start ? {start} : {})};
  const card = h("li", {class: "card run"}, thumb,
    h("div", {class: "about"}, h("h3", {}, title), h("p", {class: "muted"}, words), size,
      h("div", {class: "row"}, playButton(asked, "Play", {"aria-label": `Play ${title}`}),
        h("a", {class: "button quiet", href: address(["new", puzzle], {start, ...parameters}),
          "aria-label": `Options of ${title}`}, "Options"))));
  whenSeen(card, () => {
    startOf({puzzle, start, parameters}).then(({picture}) => put(thumb, still(picture, title))).catch(() => {});
    sizeOf(asked).then(told => put(size, told));
  });
  return card;
}

// One at a time, because each takes the server a moment; kept by this browser.
let last = Promise.resolve();

function sizeOf(asked) {
  const name = `size ${JSON.stringify(asked)}`;
  const kept = localStorage.getItem(name);
  last = kept ? last : last.then(() => post(["probe"], asked)).then(({expected, configurations, depth, exhausted}) => {
    const size = expected ? counted(short(expected), "position") : `more than ${short(configurations)} positions`;
    const found = exhausted ? `${size}, the farthest ${counted(depth, "move")} away` : size;
    localStorage.setItem(name, found);
    return found;
  }).catch(() => "");
  return kept ? Promise.resolve(kept) : last;
}
