// The kinds of run for a puzzle, each with its fields.

import {h} from "../lib/dom.js";
import {boundsOf, check, field, numeric} from "./fields.js";

// {element, value}: the part of the form, and the fields that it adds to a new run. `without` are options to leave out.
export function kindsOf(puzzle, wanted = null) {
  const choices = choicesFor(puzzle, new Set(puzzle.notes));
  const first = Math.max(0, choices.findIndex(({value}) => value().kind === wanted));
  const rows = choices.map(({words, fields = []}, place) => {
    const radio = h("input", {type: "radio", name: "kind", checked: place === first, onchange: () => show()});
    const below = h("div", {class: "below"}, fields);
    return {radio, below, element: h("div", {}, h("label", {class: "check"}, radio, ` ${words}`), fields.length > 0 && below)};
  });
  // Hidden fields are disabled, so that the browser does not check them.
  const show = () => rows.forEach(({radio, below}) => {
    below.hidden = !radio.checked;
    below.querySelectorAll("input, textarea").forEach(input => { input.disabled = !radio.checked; });
  });
  show();
  const element = h("fieldset", {class: "field"}, h("legend", {}, "Kind of run"), rows.map(row => row.element));
  element.hidden = choices.length < 2;
  return {element, value: () => choices[rows.findIndex(({radio}) => radio.checked)].value()};
}

function choicesFor(puzzle, notes) {
  if (notes.has("a tree: its solutions are counted")) return [{words: "count all solutions", value: () => ({kind: "tree"})}];
  const found = [
    {words: "explore all that the start reaches", value: () => ({kind: "explore"})},
    {words: "explore until the first goal", value: () => ({kind: "explore", until_goal: true})},
  ];
  if (notes.has("--whole")) found.push({words: "take a census of the whole space, with all components", value: () => ({kind: "census"})});
  if (notes.has("study deals")) found.push(studyOf(puzzle));
  if (notes.has("--from DEAL")) found.push(timed("hunt", "hunt for the hardest deal", "hunting", 30));
  if (notes.has("moves score")) found.push(timed("optimise", "find a good play of the board", "optimising", 10));
  if (notes.has("study sizes")) found.push(sizesOf(puzzle));
  if (notes.has("study boards")) found.push(boardsOf(), generatorOf());
  found.push(startsOf());
  return found;
}

// Deals of several sizes.
function studyOf({options, size_options: without}) {
  const size = options.find(({name}) => name === without[0]);
  const [least] = boundsOf(size);
  const sizes = numbers([least, least + 1, least + 2]);
  const deals = numeric(100, 1);
  return {
    words: "study random deals",
    fields: [field("sizes", size.name, sizes, `from ${size.allowed}, separated by commas`), field("deals", "deals of each", deals)],
    value: () => ({kind: "study", sizes: listed(sizes), deals: Number(deals.value), without}),
  };
}

const numbers = values => h("input", {value: values.join(", "), required: true, pattern: "\\s*\\d+(\\s*,\\s*\\d+)*\\s*"});
const listed = input => input.value.split(",").map(Number);

// The same puzzle for one size after another.
function sizesOf({size_options: without}) {
  const sizes = numbers([3, 4, 5, 6]);
  return {
    words: "study one size after another",
    fields: [field("members", "sizes", sizes, "separated by commas; for tiles, the cells of the board")],
    value: () => ({kind: "sizes", sizes: listed(sizes), without}),
  };
}

// Pieces on a board: the fields, their ids with a suffix, and their values.
function piecesOf(usual, suffix) {
  const size = h("input", {value: usual.size, required: true, pattern: "\\s*\\d+x\\d+\\s*"});
  const pieces = h("input", {value: usual.pieces, class: "long", required: true, spellcheck: "false"});
  const empty = h("input", {value: usual.empty, required: true});
  const goal = h("input", usual.goal ? {value: usual.goal, required: true} : {placeholder: "none"});
  return {
    fields: [field(`size${suffix}`, "columns x rows", size), field(`pieces${suffix}`, "pieces", pieces, "width x height : count, or rows of x and . : count"),
      field(`empty${suffix}`, "empty cells", empty, "2, 2.. or 2..4"), field(`where${suffix}`, "goal", goal, "2x2@4,2: a piece at row, column")],
    // No board is given, so no option can name its pieces.
    value: () => ({without: ["start", "goal", "distinct"], size: size.value.trim(), pieces: pieces.value, empty: empty.value, goal: goal.value.trim()}),
  };
}

// All mixes of pieces on a board, with all components of each.
function boardsOf() {
  const family = piecesOf({size: "3x4", pieces: "2x2:1 1x2:* 2x1:* 1x1:*", empty: "2"}, "");
  const hardest = numeric(0, 0, 100);
  const pairs = check("pairs", "count all diametral pairs");
  return {
    words: "study all boards of given pieces",
    fields: [...family.fields, field("starts", "hardest starts", hardest, "needs a goal"), pairs.element],
    value: () => ({kind: "boards", ...family.value(), pairs: pairs.input.checked, hardest: Number(hardest.value)}),
  };
}

// Boards of a given difficulty.
function generatorOf() {
  const family = piecesOf({size: "4x4", pieces: "2x2:1 2x1:2 1x2:2 1x1:2", empty: "1..", goal: "2x2@3,3"}, "-generated");
  const [least, most, boards, hunt, seconds] = [numeric(15, 1), numeric(30, 1), numeric(12, 1), numeric(0, 0), numeric(60, 1)];
  const unique = check("unique", "one shortest solution");
  const noIdle = check("no-idle", "every piece has to move");
  return {
    words: "find boards of a given difficulty",
    fields: [...family.fields, field("least", "fewest moves, from", least), field("most", "to", most), field("boards", "boards", boards),
      field("vary", "variations of each", hunt, "in search of a harder one"), field("searching", "seconds", seconds), unique.element, noIdle.element],
    value: () => ({kind: "generate", ...family.value(), least: Number(least.value), most: Number(most.value), boards: Number(boards.value),
      hunt: Number(hunt.value), seconds: Number(seconds.value), unique: unique.input.checked, no_idle: noIdle.input.checked}),
  };
}

// Many starts, each searched by itself.
function startsOf() {
  const list = h("textarea", {rows: "4", required: true, spellcheck: "false", autocapitalize: "off"});
  return {words: "search from every start of a list", fields: [field("list", "starts", list, "one per line, perhaps after its name")], value: () => ({kind: "starts", starts: list.value})};
}

// A search that ends after some seconds.
function timed(kind, words, id, usual) {
  const seconds = numeric(usual, 1);
  return {words, fields: [field(id, "seconds", seconds)], value: () => ({kind, seconds: Number(seconds.value)})};
}
