// A board that is drawn by mouse, finger or keys, with tools, undo and redo.

import {button, enable, h, s, say} from "../lib/dom.js";
import {Draft, EMPTY, MOST, WALL} from "./draft.js";
import {draw, SIDE} from "./drawing.js";
import {choice, numeric} from "../parts/fields.js";
import {shareButton} from "../parts/share.js";

const ARROWS = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
// What a tool does with the cell that is pressed and each one that is dragged over: a function of the draft, that cell,
// and what was pressed: {letter, cell, base}, the piece, its cell, and the draft before.
const TOOLS = {
  piece: {words: "Piece", help: "Drag from corner to corner to draw a piece; with Alt, or from a piece, cell by cell.",
    act: drawn},
  wall: {words: "Wall", help: "Press or drag to build walls, from a wall to take them away.",
    act: (draft, cell, {base, cell: first}) => draft.wall(cell, base.cells[first] !== WALL)},
  move: {words: "Move", help: "Drag a piece to another place.", act: (draft, cell, held) => moved("move", cell, held)},
  goal: {words: "Goal", act: (draft, cell, held) => moved("aim", cell, held),
    help: "Drag a piece to where it must get; the edge is its exit. Dragged nowhere, it has no goal."},
  erase: {words: "Erase", help: "Press a piece or a wall to take it off.", act: (draft, cell) => draft.erase(cell)},
};

function drawn(draft, cell, {letter, base, cell: first, free}) {
  if (!letter) return draft;
  return free || base.at(first) ? draft.grow(letter, cell) : base.block(letter, first, cell) ?? draft;
}

function moved(how, cell, {base, letter, cell: first}) {
  if (!base.at(first)) return base;
  return base[how](letter, Math.floor(cell / base.columns) - Math.floor(first / base.columns),
    cell % base.columns - first % base.columns);
}

export class Editor {
  changed; tool; draft; past; future; held; cursor; rows; columns;

  // `changed` is called with the start and the goal as texts, after each change that is drawn. Pieces are `bound` or
  // not.
  constructor(start, goal, bound, changed) {
    Object.assign(this, {changed, tool: "piece", draft: Draft.of(start, goal, bound) ?? new Draft(5, 4), past: [],
      future: [], held: null, cursor: 0});
    this.svg = s("svg", {class: "picture draft", role: "application", tabindex: "0", "aria-describedby": "draft-help"});
    this.help = h("p", {class: "muted small", id: "draft-help"});
    this.undo = button("Undo", () => this.#back(this.past, this.future), {title: "Ctrl+Z"});
    this.redo = button("Redo", () => this.#back(this.future, this.past), {title: "Ctrl+Y"});
    [this.rows, this.columns] = [numeric(5, 1, MOST), numeric(4, 1, MOST)];
    for (const input of [this.rows, this.columns]) {
      input.addEventListener("change", () => this.#resize());
      // Enter would start a run.
      input.addEventListener("keydown", event => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        this.#resize();
      });
    }
    this.element = h("div", {class: "editor"},
      choice("Tool", Object.entries(TOOLS).map(([name, {words}]) => [name, words]), "piece", name => this.#take(name)),
      this.svg, this.help,
      h("div", {class: "row"}, this.undo, this.redo,
        button("Clear", () => this.#apply(new Draft(this.draft.rows, this.draft.columns))),
        shareButton(), h("label", {}, "Rows ", this.rows), h("label", {}, "Columns ", this.columns)));
    this.element.addEventListener("input", event => event.stopPropagation());
    this.#take("piece");
    this.#listen();
    this.#show();
  }

  // Another board; the texts may be those that it told of itself.
  load(start, goal, bound) {
    const draft = Draft.of(start, goal, bound);
    if (draft && (draft.start !== this.draft.start || draft.goalText !== this.draft.goalText)) {
      this.#apply(draft, () => {});
    }
  }

  #take(name) {
    this.tool = name;
    const keys = "By keys: arrows choose a cell, Space presses and lets go, Escape gives up.";
    this.help.textContent = `${TOOLS[name].help} ${keys}`;
  }

  #listen() {
    const {svg} = this;
    const cellOf = event => {
      const {x, y} = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const [row, column] = [Math.floor(y / SIDE), Math.floor(x / SIDE)];
      return row >= 0 && row < this.draft.rows && column >= 0 && column < this.draft.columns
        ? row * this.draft.columns + column : null;
    };
    svg.addEventListener("pointerdown", event => {
      const cell = cellOf(event);
      if (event.button !== 0 || cell === null) return;
      svg.setPointerCapture(event.pointerId);
      this.#press(cell, event.altKey);
    });
    svg.addEventListener("pointermove", event => {
      const cell = cellOf(event);
      if (this.held && cell !== null && cell !== this.cursor) this.#over(cell);
    });
    svg.addEventListener("pointerup", () => this.#release());
    svg.addEventListener("pointercancel", () => this.#giveUp());
    svg.addEventListener("keydown", event => this.#key(event));
    this.element.addEventListener("keydown", event => {
      const which = {z: event.shiftKey ? this.redo : this.undo, y: this.redo}[event.key.toLowerCase()];
      if (!which || !(event.ctrlKey || event.metaKey) || event.target.closest("input")) return;
      event.preventDefault();
      which.click();
    });
  }

  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const press = () => (this.held ? this.#release() : this.#press(this.cursor));
    const actions = {" ": press, Enter: press, Escape: () => this.#giveUp(), z: () => this.undo.click(),
      y: () => this.redo.click()};
    if (event.key in ARROWS) {
      const [there] = this.draft.shifted([this.cursor], ...ARROWS[event.key]) ?? [this.cursor];
      if (this.held) this.#over(there);
      else this.#show(there);
    } else if (event.key in actions) actions[event.key]();
    else return;
    event.preventDefault();
    say(`${this.held ? "Held. " : ""}${this.#named(this.cursor)}`);
  }

  #named(cell) {
    const here = this.draft.cells[cell];
    const what = here === EMPTY ? "empty" : here === WALL ? "wall" : `piece ${here}`;
    return `Row ${Math.floor(cell / this.draft.columns) + 1} column ${cell % this.draft.columns + 1}: ${what}`;
  }

  #press(cell, free = false) {
    const letter = this.draft.at(cell) ?? (this.draft.cells[cell] === EMPTY ? this.draft.freeLetter : null);
    this.held = {base: this.draft, letter, cell, free};
    this.#over(cell);
  }

  #over(cell) {
    const before = this.draft;
    this.draft = TOOLS[this.tool].act(before, cell, this.held);
    this.#show(cell);
    if (this.#texts(before) !== this.#texts(this.draft)) this.#tell();
  }

  #texts = ({start, goalText}) => `${start} ${goalText}`;
  #tell = () => { this.changed(this.draft.letters.length ? this.draft.start : "", this.draft.goalText); };

  #release() {
    const {base} = this.held ?? {};
    this.held = null;
    if (base && this.#texts(base) !== this.#texts(this.draft)) this.#remember(base);
  }

  #giveUp() {
    if (!this.held) return;
    this.draft = this.held.base;
    this.held = null;
    this.#show();
    this.#tell();
  }

  #remember(before) {
    this.past.push(before);
    this.future = [];
    this.#show();
  }

  #apply(draft, tell = () => this.#tell()) {
    const before = this.draft;
    this.draft = draft;
    this.#remember(before);
    tell();
  }

  #back(from, to) {
    this.held = null;
    to.push(this.draft);
    this.draft = from.pop();
    this.#show();
    this.#tell();
  }

  #resize() {
    const [rows, columns] = [Number(this.rows.value), Number(this.columns.value)];
    if (rows === this.draft.rows && columns === this.draft.columns) return;
    if (rows >= 1 && columns >= 1 && rows * columns <= MOST) this.#apply(this.draft.resized(rows, columns));
    else this.#show();
  }

  #show(cursor = this.cursor) {
    const {draft} = this;
    this.cursor = Math.min(cursor, draft.cells.length - 1);
    draw(this.svg, draft, this.cursor);
    this.svg.classList.toggle("holding", this.held !== null);
    this.svg.setAttribute("aria-label", `Board of ${draft.rows} rows and ${draft.columns} columns to draw on`);
    [this.rows.value, this.columns.value] = [draft.rows, draft.columns];
    enable(this.undo, this.past.length > 0);
    enable(this.redo, this.future.length > 0);
  }
}
