// A new run: a form made of the puzzle's options, with the board drawn while you type.

import {get, post} from "../lib/api.js";
import {h, put} from "../lib/dom.js";
import {go, note} from "../router.js";
import {check, control, field} from "../parts/fields.js";
import {kindsOf} from "../parts/kinds.js";
import {still} from "../picture/shapes.js";

// Milliseconds after the last key before the board is fetched.
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
    this.name = h("input", {id: "name", spellcheck: "false", placeholder: "automatic"});
    const notes = new Set(puzzle.notes);
    const needed = [...notes].some(word => word.startsWith("needs"));
    this.kind = kindsOf(puzzle);
    this.merge = notes.has("--merge-mirrors") && check("merge", "count mirror images as one configuration");
    put(this.fields,
      puzzle.options.map(({name: option, allowed}) => {
        const input = this.inputs.get(option);
        return field(`option-${option}`, option, input, input.tagName === "SELECT" ? "" : allowed);
      }),
      this.kind.element,
      field("start", needed ? "Board (required)" : "Start", this.start, "one row per line, or one line with / between rows"),
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

  // Draws the board that the run would start with, or shows what is wrong with it.
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
    const {without = [], ...kind} = this.kind.value();
    const options = this.#options().filter(([name]) => !without.includes(name));
    const asked = {
      puzzle: this.chosen.name,
      options: {...Object.fromEntries(options), ...(goal ? {goal} : {})},
      start: this.#startText(),
      merge_mirrors: Boolean(this.merge && this.merge.input.checked),
      name: this.name.value.trim() || null,
      ...kind,
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
