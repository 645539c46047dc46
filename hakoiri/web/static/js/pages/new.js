// A new run: a form made of the puzzle's options, with the board drawn as one types.

import {get, post} from "../lib/api.js";
import {h, put} from "../lib/dom.js";
import {go, note} from "../router.js";
import {still} from "../picture/shapes.js";

// How long one must have stopped typing before the board is asked for.
const PAUSE = 120;

export async function show(place, {path: [, chosen]}, current) {
  const {puzzles} = await get(["puzzles"]);
  if (!current()) return;
  const form = new RunForm(puzzles);
  put(place, h("section", {}, h("h1", {}, "New run"), form.element));
  form.choose(puzzles.some(({name}) => name === chosen) ? chosen : "klotski");
}

class RunForm {
  constructor(puzzles) {
    this.puzzles = new Map(puzzles.map(puzzle => [puzzle.name, puzzle]));
    this.select = h("select", {id: "puzzle", onchange: () => this.choose(this.select.value)},
      puzzles.map(({name}) => h("option", {value: name}, name)));
    this.summary = h("p", {class: "muted"});
    this.fields = h("div", {class: "fields"});
    this.drawn = h("div", {class: "drawn"});
    this.wrong = h("p", {class: "reason", role: "alert"});
    this.send = h("button", {type: "submit", class: "strong"}, "Start");
    this.element = h("form", {class: "new card", onsubmit: event => this.#submit(event), oninput: () => this.#typed()},
      h("div", {}, field("puzzle", "Puzzle", this.select, ""), this.summary, this.fields, this.wrong, h("div", {class: "row"}, this.send)),
      this.drawn);
  }

  choose(name) {
    const puzzle = this.puzzles.get(name);
    this.select.value = name;
    this.chosen = puzzle;
    note(["new", name]);
    this.summary.textContent = puzzle.summary;
    this.inputs = new Map(puzzle.options.map(option => [option.name, control(option)]));
    this.start = h("textarea", {id: "start", rows: "3", spellcheck: "false", autocapitalize: "off", placeholder: "the usual start"});
    this.goal = h("input", {id: "goal", spellcheck: "false", autocapitalize: "off", placeholder: "the usual goal"});
    this.name = h("input", {id: "name", spellcheck: "false", placeholder: "made up"});
    const notes = new Set(puzzle.notes);
    const needed = [...notes].some(word => word.startsWith("needs"));
    this.mode = modes(notes);
    this.merge = notes.has("--merge-mirrors") && check("merge", "take mirror images as one");
    put(this.fields,
      [...this.inputs].map(([option, input]) => field(`option-${option}`, option, input, puzzle.options.find(({name: known}) => known === option).allowed)),
      this.mode && this.mode.element,
      field("start", needed ? "Board (needed)" : "Start", this.start, "rows, or one line with / between them"),
      h("details", {}, h("summary", {}, "More"),
        notes.has("--goal") && !this.inputs.has("goal") && field("goal", "Goal", this.goal, "* for anything"), this.merge && this.merge.element,
        field("name", "Name of the run", this.name, "letters, digits, - and _")));
    this.#draw();
  }

  #options() {
    return [...this.inputs].map(([name, input]) => [name, input.value.trim()]).filter(([, value]) => value);
  }

  #startText() {
    return this.start.value.trim().split(/\s*\n\s*/).join("/") || null;
  }

  #typed() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.#draw(), PAUSE);
  }

  // The board that would be begun with; what is wrong with it is said at once.
  async #draw() {
    const mine = (this.turn = (this.turn ?? 0) + 1);
    const name = this.chosen.name;
    try {
      const found = await get(["boards", `${name}.json`], {conf: this.#startText(), o: this.#options().map(option => option.join("="))});
      if (mine !== this.turn) return;
      put(this.drawn, still(found.picture, `${name}: ${found.configuration}`), h("p", {}, h("code", {}, found.configuration)));
      this.wrong.textContent = "";
    } catch (error) {
      if (mine !== this.turn) return;
      const empty = !this.#startText();
      this.wrong.textContent = empty ? "" : error.message;
      put(this.drawn, empty && h("p", {class: "muted"}, error.message));
    }
  }

  async #submit(event) {
    event.preventDefault();
    this.send.disabled = true;
    const goal = this.goal.value.trim();
    const asked = {
      puzzle: this.chosen.name,
      options: {...Object.fromEntries(this.#options()), ...(goal ? {goal} : {})},
      start: this.#startText(),
      merge_mirrors: Boolean(this.merge && this.merge.input.checked),
      name: this.name.value.trim() || null,
      ...(this.mode ? this.mode.value() : {}),
    };
    try {
      const run = await post(["runs"], Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== null && value !== false)));
      go(["runs", run.run]);
    } catch (error) {
      this.wrong.textContent = error.message;
      this.send.disabled = false;
    }
  }
}

const field = (id, words, input, help) => {
  input.id = id;
  if (help) input.setAttribute("aria-describedby", `${id}-help`);
  return h("div", {class: "field"}, h("label", {for: id}, words), input, help && h("small", {id: `${id}-help`, class: "muted"}, help));
};

const check = (id, words) => {
  const input = h("input", {type: "checkbox", id});
  return {input, element: h("label", {class: "check"}, input, ` ${words}`)};
};

// What an option may be is said in words: a|b|c, 1..9, or free text.
function control({default: usual, allowed}) {
  if (/^[^ |]+(\|[^ |]+)+$/.test(allowed)) return h("select", {}, allowed.split("|").map(value => h("option", {selected: value === usual}, value)));
  const bounds = /^(-?\d+)\.\.(-?\d+)$/.exec(allowed);
  if (bounds) return h("input", {type: "number", min: bounds[1], max: bounds[2], value: usual, required: true});
  return h("input", {value: usual, spellcheck: "false", autocapitalize: "off"});
}

// How far to go: what the kind of puzzle allows.
function modes(notes) {
  if (notes.has("a tree: its solutions are counted")) return null;
  const choices = [["start", "all that the start reaches"], ["goal", "until the first goal"]];
  if (notes.has("--whole")) choices.push(["whole", "the whole space, with all components"]);
  const radios = choices.map(([value, words]) => h("label", {class: "check"}, h("input", {type: "radio", name: "mode", value, checked: value === "start"}), ` ${words}`));
  const element = h("fieldset", {class: "field"}, h("legend", {}, "What to count"), radios);
  return {
    element,
    value: () => ({start: {mode: "explore"}, goal: {mode: "explore", until_goal: true}, whole: {mode: "whole"}})[element.querySelector(":checked").value],
  };
}
