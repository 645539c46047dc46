// What is to be done with a puzzle: how much of it is counted, or a study, a hunt, an optimisation, each with its fields.

import {h} from "../lib/dom.js";
import {boundsOf, field, numeric} from "./fields.js";

// {element, value}: the part of the form, and what it adds to a new run. `without` is an option that then goes unsaid.
export function modesOf(puzzle) {
  const choices = choicesFor(puzzle, new Set(puzzle.notes));
  const rows = choices.map(({words, fields = []}, place) => {
    const radio = h("input", {type: "radio", name: "mode", checked: place === 0, onchange: () => show()});
    const below = h("div", {class: "below"}, fields);
    return {radio, below, element: h("div", {}, h("label", {class: "check"}, radio, ` ${words}`), fields.length > 0 && below)};
  });
  // Fields that are not seen are not asked for.
  const show = () => rows.forEach(({radio, below}) => {
    below.hidden = !radio.checked;
    below.querySelectorAll("input").forEach(input => { input.disabled = !radio.checked; });
  });
  show();
  const element = h("fieldset", {class: "field"}, h("legend", {}, "What to do"), rows.map(row => row.element));
  element.hidden = choices.length < 2;
  return {element, value: () => choices[rows.findIndex(({radio}) => radio.checked)].value()};
}

function choicesFor(puzzle, notes) {
  if (notes.has("a tree: its solutions are counted")) return [{words: "count all solutions", value: () => ({mode: "tree"})}];
  const found = [
    {words: "count all that the start reaches", value: () => ({mode: "explore"})},
    {words: "count until the first goal", value: () => ({mode: "explore", until_goal: true})},
  ];
  if (notes.has("--whole")) found.push({words: "count the whole space, with all components", value: () => ({mode: "whole"})});
  if (notes.has("--from DEAL") && puzzle.options.some(boundsOf)) found.push(studyOf(puzzle));
  if (notes.has("--from DEAL")) found.push(huntOf());
  if (notes.has("--from BOARD")) found.push(optimisationOf());
  return found;
}

// Deals of several sizes: the first option that is a number says how large a deal is.
function studyOf({options}) {
  const size = options.find(boundsOf);
  const [least] = boundsOf(size);
  const sizes = h("input", {value: `${least}, ${least + 1}, ${least + 2}`, required: true, pattern: "\\s*\\d+(\\s*,\\s*\\d+)*\\s*"});
  const deals = numeric(100, 1);
  return {
    words: "study random deals",
    fields: [field("sizes", size.name, sizes, `some of ${size.allowed}, with commas`), field("deals", "deals of each", deals)],
    value: () => ({mode: "study", sizes: sizes.value.split(",").map(Number), deals: Number(deals.value), without: size.name}),
  };
}

function huntOf() {
  const seconds = numeric(30, 1);
  return {
    words: "hunt for the hardest deal",
    fields: [field("hunting", "seconds", seconds)],
    value: () => ({mode: "hunt", seconds: Number(seconds.value)}),
  };
}

function optimisationOf() {
  const seconds = numeric(10, 1);
  return {
    words: "find a good play of the board",
    fields: [field("optimising", "seconds", seconds)],
    value: () => ({mode: "optimise", seconds: Number(seconds.value)}),
  };
}
