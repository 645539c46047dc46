// A new run: a form made of the puzzle's options, with the board drawn while you type, or to be drawn.

import {get, made, part, post, remove, sleep} from "../lib/api.js";
import {button, go, h, note, put, sure} from "../lib/dom.js";
import {Draft} from "../edit/draft.js";
import {needs, Verdict} from "../edit/verdict.js";
import {fewestOf, givenOf} from "../parts/families.js";
import {check, control, field, numeric} from "../parts/fields.js";
import {kindsOf} from "../parts/kinds.js";
import {still} from "../picture/shapes.js";

// The hunt for a harder board: its seconds, and the most positions of one board.
const HUNT = {kind: "hunt", objective: "moves", near: true, seconds: 20, cap: 100000};
// Milliseconds after the last key before the board is fetched.
const PAUSE = 120;
// The puzzle whose boards are drawn by hand.
const DRAWN = "sliding";
// That of a file, and the endings of such files.
const [DEFINED, ENDINGS] = ["definition", ".tws, .def, .ksolve, .json, .g, .gap"];

export async function show(place, {path: [, chosen], query}, current) {
  const {puzzles, classics, kinds, defined} = await get(["puzzles"]);
  if (!current()) return null;
  const form = new RunForm([...puzzles, defined], classics, kinds);
  put(place, h("section", {}, h("h1", {}, "New run"), form.element));
  await form.choose(form.puzzles.has(chosen) ? chosen : "klotski", query);
  return form.end;
}

class RunForm {
  constructor(puzzles, classics, kinds) {
    this.kinds = kinds;
    this.puzzles = new Map(puzzles.map(puzzle => [puzzle.name, puzzle]));
    this.classics = new Map(classics.map(classic => [`${classic.name} (${classic.puzzle})`, classic]));
    const group = (label, names) => h("optgroup", {label}, [...names].map(name => h("option", {}, name)));
    this.select = h("select",
      {id: "puzzle", onchange: () => this.#chosen(this.select.value).catch(error => put(this.wrong, error.message))},
      group("Puzzles", this.puzzles.keys()), group("Known starts", this.classics.keys()));
    this.summary = h("p", {class: "muted"});
    this.fields = h("div", {class: "fields"});
    this.drawn = h("div", {class: "drawn"});
    this.verdict = new Verdict();
    this.wrong = h("p", {class: "reason", role: "alert"});
    this.send = h("button", {type: "submit", class: "strong"}, "Start");
    this.sent = h("div", {class: "row"}, this.send);
    this.about = h("div", {class: "muted small", role: "status"});
    this.harder = button("Make it harder", () => this.#harder(), {hidden: true});
    this.element = h("form",
      {class: "new card", onsubmit: event => this.#submit(event), oninput: event => this.#typed(event)},
      h("div", {class: "head"}, field("puzzle", "Puzzle", this.select, ""), this.summary),
      this.shown = h("div", {class: "shown"}, this.drawn, this.verdict.element), this.side = h("div", {}, this.fields));
  }

  // A puzzle, or a start that has a name.
  async #chosen(name) {
    const classic = this.classics.get(name);
    if (!classic) return this.choose(name);
    await this.choose(classic.puzzle, givenOf(classic));
    this.select.value = name;
    this.summary.textContent = `${classic.title}. Fewest moves: ${fewestOf(classic)}. Source: ${classic.source}.`;
    return null;
  }

  // `given` are a start and options in place of the usual ones.
  async choose(name, given = {}) {
    const puzzle = this.puzzles.get(name);
    clearTimeout(this.waiting);
    this.select.value = name;
    Object.assign(this, {chosen: puzzle, given: null});
    this.summary.textContent = puzzle.summary;
    this.verdict.clear();
    this.inputs = new Map(puzzle.options.map(option => [option.name, control(option)]));
    this.start = h("textarea",
      {id: "start", rows: "3", spellcheck: "false", autocapitalize: "off", placeholder: "the usual start"});
    this.goal = this.inputs.get("goal")
      ?? h("input", {id: "goal", spellcheck: "false", autocapitalize: "off", placeholder: "the usual goal"});
    [this.title, this.author] = ["", ""].map(() => h("input", {maxlength: 80}));
    [this.title.value, this.author.value] = [given.title ?? "", given.author ?? ""];
    this.name = h("input", {id: "name", spellcheck: "false", placeholder: "automatic"});
    this.priority = numeric(0, -1000, 1000);
    const needed = puzzle.can.includes("needs_start");
    this.kind = kindsOf(puzzle, this.kinds, given.kind);
    this.merge = puzzle.can.includes("merge_mirrors") && check("merge", "count mirror images as one configuration");
    this.optional = new Map(puzzle.options.map(({name: option, allowed}) => {
      const input = this.inputs.get(option);
      return [option, field(`option-${option}`, option, input, input.tagName === "SELECT" ? "" : allowed)];
    }));
    this.optional.set("start", field("start", needed ? "Board (required)" : "Start", this.start,
      "one row per line, or one line with / between rows"));
    put(this.fields,
      name === DEFINED && field("file", "File", h("input",
        {type: "file", required: true, accept: ENDINGS, onchange: event => this.#define(event.target.files)}), ENDINGS),
      puzzle.options.map(option => this.optional.get(option.name)),
      this.kind.element,
      this.optional.get("start"),
      name === DRAWN && [field("title", "Title", this.title, ""), field("author", "Author", this.author, "")],
      h("details", {}, h("summary", {}, "More"),
        puzzle.can.includes("goal") && !this.inputs.has("goal") && field("goal", "Goal", this.goal, "* for anything"),
        this.merge && this.merge.element,
        field("name", "Name of the run", this.name, "letters, digits, - and _"),
        field("priority", "Priority", this.priority, "runs of a higher number begin first")));
    this.start.value = (given.start ?? "").replaceAll("/", "\n");
    this.goal.value = given.goal ?? "";
    for (const [option, input] of this.inputs) if (given[option]) input.value = given[option];
    this.#arrange();
    await this.#edit(name);
    this.#draw();
  }

  async #define([file]) {
    this.given = file ? {puzzle: file.name, definition: await file.text()} : null;
    this.#draw();
  }

  // Fields that the kind of run leaves out are hidden. A board to be drawn comes first.
  #arrange() {
    const without = this.kind.without();
    this.optional.forEach((element, name) => { element.hidden = without.includes(name); });
    const drawn = !without.includes("start");
    const first = drawn && this.chosen.name === DRAWN;
    this.drawn.hidden = !drawn;
    this.element.classList.toggle("board-first", first);
    const place = first ? this.shown : this.side;
    if (!place.contains(this.sent)) place.append(this.wrong, this.sent);
  }

  // An editor in place of the picture, in step with the fields.
  async #edit(name) {
    this.editor = null;
    put(this.drawn);
    this.drawn.after(this.verdict.element);
    if (name !== DRAWN) return;
    const {Editor} = await part(() => import("../edit/editor.js"));
    if (this.chosen.name !== name) return;
    this.editor = new Editor(this.#rows(), this.goal.value, Boolean(this.inputs.get("axis").value), (start, goal) => {
      this.start.value = start.replaceAll("/", "\n");
      this.goal.value = goal;
      this.#draw();
    });
    put(this.drawn, this.editor.element);
    this.editor.svg.after(this.verdict.element, this.harder, this.about);
  }

  #options = () => [...this.inputs].map(([name, input]) => [name, input.value.trim()]).filter(([, value]) => value);

  // As it was typed: the service reads sizes, titles, comments and frames.
  #startText = () => this.start.value.trim() || null;
  #rows = () => this.start.value.trim().split(/\s*\n\s*/).join("/");

  // The fields of a family of boards are those of the drawing, until they are typed.
  #fill() {
    for (const [name, value] of Object.entries(this.editor.draft.family)) {
      for (const input of this.fields.querySelectorAll(`[name="${name}"]`)) {
        if (!input.dataset.typed) input.value = value;
      }
    }
  }

  // A harder board of the same pieces takes the place of the drawing; Undo brings that back. Stopped, it is the best so
  // far.
  async #harder() {
    // It is told to stop, however long that takes.
    if (this.hunt) return void (this.stopping = post(["runs", this.hunt, "cancel"]).catch(() => {}));
    const {found} = this.verdict;
    put(this.wrong);
    this.hunt = true;
    try {
      const {puzzle, options, start} = this.#asked();
      const {run, parameters} = await made({puzzle, options, start, ...HUNT}, ({run: name, progress}) => {
        this.hunt = name;
        this.harder.textContent = `Stop (${progress.headline || "searching …"})`;
      }, `harder ${Date.now()}`);
      const {best} = await get(["runs", run, "summary"]);
      // What drives a run that has ended lets it go a moment later.
      await Promise.all([this.stopping, sleep(1)]).then(() => remove(["runs", run])).catch(() => {});
      if (!(best?.score > found.goal_depth)) throw new Error("No harder board of these pieces was found");
      [this.start.value, this.goal.value] = [best.deal.replaceAll("/", "\n"), parameters.goal];
      this.#draw();
      put(this.about, `The same pieces, started elsewhere: ${best.score} moves instead of ${found.goal_depth}.`);
    } catch (error) {
      this.wrong.textContent = error.message;
    }
    [this.hunt, this.harder.textContent] = [null, "Make it harder"];
  }

  // Nobody waits for a harder board any more.
  end = () => this.hunt?.length && post(["runs", this.hunt, "cancel"]).catch(() => {});

  #typed({target}) {
    target.dataset.typed = "yes";
    clearTimeout(this.waiting);
    put(this.about);
    this.waiting = setTimeout(() => this.#draw(), PAUSE);
  }

  // Shows what the run would start with and find, or what is wrong with it. The address keeps it all.
  #draw() {
    this.#arrange();
    const usual = new Map(this.chosen.options.map(option => [option.name, option.default]));
    const changed = this.#options().filter(([name, value]) => value !== usual.get(name));
    if (this.editor && !this.goal.value && this.inputs.get("axis").value) this.goal.value = Draft.exit(this.#rows());
    note(["new", this.chosen.name], {start: this.#startText(), goal: this.goal.value.trim(), title: this.title.value,
      author: this.author.value, ...Object.fromEntries(changed)});
    if (this.editor) {
      this.editor.load(this.#rows(), this.goal.value.trim(), Boolean(this.inputs.get("axis").value));
      if (this.editor.draft.letters.length) this.#fill();
    } else if (this.chosen.name !== DEFINED) this.#picture();
    const {kind, puzzle, options, start, merge_mirrors, definition} = this.#asked();
    const enough = this.chosen.name === DEFINED ? definition : start || !this.editor;
    if (["explore", "census"].includes(kind) && enough) {
      this.verdict.ask({puzzle, options, start, merge_mirrors, definition}, error => this.#judged(error));
    } else {
      this.verdict.clear();
      this.#judged(null);
    }
  }

  // Of other puzzles the request for the picture says what is wrong.
  #judged(error) {
    if (!this.editor && !this.given) return;
    this.#blame(error?.message ?? "");
    this.harder.hidden = !(this.verdict.found?.goal_depth > 0);
  }

  async #picture() {
    const mine = (this.turn = (this.turn ?? 0) + 1);
    const name = this.chosen.name;
    // The editor of a board may have been fetched meanwhile.
    const arrived = () => mine === this.turn && this.chosen.name === name && !this.editor;
    try {
      const found = await get(["boards", `${name}.json`],
        {conf: this.#startText(), o: this.#options().map(option => option.join("="))});
      if (!arrived()) return;
      put(this.drawn, still(found.picture, `${name}: ${found.configuration}`),
        h("p", {}, h("code", {}, found.configuration)));
      this.wrong.textContent = "";
    } catch (error) {
      if (!arrived()) return;
      const empty = !this.#startText();
      this.#blame(empty ? "" : error.message);
      put(this.drawn, empty && h("p", {class: "muted"}, error.message));
    }
  }

  // The new run that the fields describe.
  #asked() {
    const goal = this.goal.value.trim();
    const without = this.kind.without();
    const options = this.#options().filter(([name]) => !without.includes(name));
    const start = without.includes("start") ? null : this.#startText();
    const asked = {
      puzzle: this.chosen.name,
      ...this.given,
      options: {...Object.fromEntries(options), ...(goal && !without.includes("goal") ? {goal} : {})},
      start,
      merge_mirrors: Boolean(this.merge && this.merge.input.checked),
      name: this.name.value.trim() || null,
      priority: Number(this.priority.value) || null,
      ...this.kind.value(),
    };
    return Object.fromEntries(Object.entries(asked).filter(([, value]) => ![null, false, ""].includes(value)));
  }

  // An error stands beside the field that it names.
  #blame(message) {
    const named = [...this.optional].find(([name, element]) =>
      !element.hidden && new RegExp(`\\b${name}\\b`).test(message));
    if (named) named[1].append(this.wrong);
    else this.sent.before(this.wrong);
    this.wrong.textContent = message;
  }

  // A run that would not end is confirmed first.
  async #sure(asked) {
    const {found} = this.verdict;
    const endless = found && found.fits === false && !(asked.until_goal && found.goal_depth !== null);
    return !endless || sure(`${needs(found)} Start it all the same?`, "Start", "Do not start");
  }

  async #submit(event) {
    event.preventDefault();
    const asked = this.#asked();
    if (!await this.#sure(asked)) return;
    this.send.disabled = true;
    try {
      const run = await post(["runs"], asked);
      sessionStorage.setItem(run.run, run.notes.join("\n"));
      const title = [this.title.value, this.author.value].filter(Boolean).join(", by ");
      if (title) await post(["runs", run.run, "title"], {title}).catch(() => null);
      go(["runs", run.run]);
    } catch (error) {
      this.#blame(error.message);
      this.send.disabled = false;
    }
  }
}
