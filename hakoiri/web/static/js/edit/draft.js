// A board of sliding blocks that is being drawn. A draft never changes: each change gives another one.

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
export const [EMPTY, WALL, ANYTHING] = ".#*";
// The car that must leave, in collections of Rush Hour: the second one only in the middle row.
const CARS = ["X", "A"];
// The most cells of a board with its walls. At most 64 may be free, which the service says.
export const MOST = 256;
const isPiece = letter => LETTERS.includes(letter);

export class Draft {
  /** @type {number} */ rows;
  /** @type {number} */ columns;
  /** @type {string[]} Letters, `EMPTY` or `WALL`, row by row. */ cells;
  /** @type {Map<string, number[]>} The cells wanted, by letters of pieces (or `EMPTY`). */ goal;

  /** @param {number} rows @param {number} columns */
  constructor(rows, columns, cells = Array(rows * columns).fill(EMPTY), goal = new Map()) {
    Object.assign(this, {rows, columns, cells, goal});
  }

  /**
   * The draft of a start and a goal as texts, with pieces `bound` to their lines or not.
   * @param {string} start @returns {Draft | null} Null if the start is no rectangle of cells.
   */
  static of(start, goal = "", bound = false) {
    const side = Math.sqrt(start.length);
    // A square board may be one line, as the collections of Rush Hour write it.
    const line = !start.includes("/") && Number.isInteger(side) && side > 4;
    const text = line ? start.replaceAll("o", EMPTY).replaceAll("x", WALL).match(new RegExp(`.{${side}}`, "g"))
      .join("/") : start;
    const rows = text.split("/");
    const columns = rows[0].length;
    if (!columns || rows.some(row => row.length !== columns) || rows.length * columns > MOST) return null;
    const draft = new Draft(rows.length, columns, [...rows.join("")]);
    return draft.with({goal: draft.#targets(goal, bound)});
  }

  // The usual goal of a board of one line: its car at the right end of its row.
  static exit(text) {
    const draft = text.includes("/") ? null : Draft.of(text);
    /** @type {[string, number[]][]} */
    const cars = draft ? CARS.map(letter => [letter, draft.piece(letter)]) : [];
    const rowOf = cells => Math.floor(cells[0] / draft.columns);
    const car = cars.find(([letter, cells]) => cells.length > 1 && cells.at(-1) - cells[0] === cells.length - 1
      && (letter === CARS[0] || rowOf(cells) === Math.floor((draft.rows - 1) / 2)));
    return car ? `${car[0]}@${rowOf(car[1]) + 1},${draft.columns - car[1].length + 1}` : "";
  }

  with(changes) {
    const {rows, columns, cells, goal} = {...this, ...changes};
    return new Draft(rows, columns, cells, goal);
  }

  get start() { return this.#text(this.cells); }

  // PIECE@ROW,COLUMN for one piece, else a board with * for anything; empty without a goal.
  get goalText() {
    if (!this.goal.size) return "";
    const [[letter, cells]] = this.goal;
    if (this.goal.size === 1 && letter !== EMPTY) {
      const [row, column] = this.#corner(cells);
      return `${letter}@${row + 1},${column + 1}`;
    }
    const found = this.cells.map(cell => (cell === WALL ? WALL : ANYTHING));
    for (const [name, wanted] of this.goal) wanted.forEach(cell => { found[cell] = name; });
    return this.#text(found);
  }

  #text = cells => Array.from({length: this.rows},
    (_, row) => cells.slice(row * this.columns, (row + 1) * this.columns).join("")).join("/");
  get letters() { return [...new Set(this.cells.filter(isPiece))]; }
  get freeLetter() { return [...LETTERS].find(letter => !this.cells.includes(letter)); }
  at = cell => (isPiece(this.cells[cell]) ? this.cells[cell] : null);
  piece = letter => [...this.cells.keys()].filter(cell => this.cells[cell] === letter);

  // The shape of some cells as a text, wherever they are.
  shape(cells) {
    const [top, left] = this.#corner(cells);
    return cells.map(cell => `${Math.floor(cell / this.columns) - top},${cell % this.columns - left}`).sort().join(" ");
  }

  #corner = cells => [Math.min(...cells.map(cell => Math.floor(cell / this.columns))),
    Math.min(...cells.map(cell => cell % this.columns))];

  // The row or column of a piece that is one cell wide and longer.
  #line(cells) {
    const [rows, columns] = [cell => Math.floor(cell / this.columns), cell => cell % this.columns].map(of =>
      [...new Set(cells.map(of))]);
    if (rows.length === columns.length) return "";
    return rows.length === 1 ? `row ${rows}` : columns.length === 1 ? `column ${columns}` : "";
  }

  // A goal board names shapes, so each of its pieces gets the letter of a piece of that shape, its own if possible; if
  // they are `bound` to their lines, of one on that line.
  #targets(text, bound) {
    const one = /^(.)@(\d+),(\d+)$/.exec(text);
    if (one && this.cells.includes(one[1])) {
      const [row, column] = this.#corner(this.piece(one[1]));
      const there = this.shifted(this.piece(one[1]), Number(one[2]) - 1 - row, Number(one[3]) - 1 - column);
      return new Map(there ? [[one[1], there]] : []);
    }
    const found = new Map();
    const board = Draft.of(text);
    if (!board || board.rows !== this.rows || board.columns !== this.columns) return found;
    if (board.cells.includes(EMPTY)) found.set(EMPTY, board.piece(EMPTY));
    for (const name of board.letters) {
      const wanted = board.piece(name);
      const alike = this.letters.filter(letter =>
        !found.has(letter) && this.shape(this.piece(letter)) === this.shape(wanted)
        && (!bound || this.#line(this.piece(letter)) === this.#line(wanted)));
      const letter = alike.includes(name) ? name : alike[0];
      if (letter) found.set(letter, wanted);
    }
    return found;
  }

  // Cells moved down and right; null if some leave the board.
  shifted(cells, down, right) {
    const found = cells.map(cell => [Math.floor(cell / this.columns) + down, cell % this.columns + right]);
    const inside = found.every(([row, column]) => row >= 0 && row < this.rows && column >= 0 && column < this.columns);
    return inside ? found.map(([row, column]) => row * this.columns + column) : null;
  }

  // An empty cell becomes part of a piece, if the piece is new or beside it.
  grow(letter, cell) {
    const own = this.piece(letter);
    const beside = [[0, 1], [0, -1], [1, 0], [-1, 0]].some(step => own.includes(this.shifted([cell], ...step)?.[0]));
    if (this.cells[cell] !== EMPTY || (own.length && !beside)) return this;
    return this.#without(letter).with({cells: this.cells.with(cell, letter)});
  }

  // Empty cells between two corners become a piece; null if some are not empty.
  block(letter, one, other) {
    const sides = divide => [divide(one), divide(other)].sort((least, most) => least - most);
    const [top, bottom] = sides(cell => Math.floor(cell / this.columns));
    const [left, right] = sides(cell => cell % this.columns);
    const inside = cell => cell >= top * this.columns && cell < (bottom + 1) * this.columns
      && cell % this.columns >= left && cell % this.columns <= right;
    if (this.cells.some((here, cell) => inside(cell) && here !== EMPTY)) return null;
    return this.with({cells: this.cells.map((here, cell) => (inside(cell) ? letter : here))});
  }

  // The family of boards that it belongs to, in the words of a generator: its size and walls, its pieces, its goal.
  get family() {
    const form = cells => {
      const shape = this.shape(cells);
      const places = shape.split(" ").map(place => place.split(",").map(Number));
      const [down, across] = [0, 1].map(axis => 1 + Math.max(...places.map(place => place[axis])));
      if (down * across === cells.length) return `${across}x${down}`;
      const sign = (row, column) => (places.some(place => place[0] === row && place[1] === column) ? "x" : ".");
      return Array.from({length: down}, (_, row) => Array.from({length: across}, (__, at) => sign(row, at)).join(""))
        .join("/");
    };
    const forms = this.letters.map(letter => form(this.piece(letter)));
    const [[letter, cells] = []] = this.goal;
    const corner = cells && this.#corner(cells);
    return {
      size: this.cells.includes(WALL) ? this.#text(this.cells.map(cell => (cell === WALL ? WALL : EMPTY)))
        : `${this.columns}x${this.rows}`,
      pieces: [...new Set(forms)].map(one => `${one}:${forms.filter(other => other === one).length}`).join(" "),
      empty: String(this.cells.filter(cell => cell === EMPTY).length),
      goal: this.goal.size === 1 && letter !== EMPTY ? `${form(cells)}@${corner[0] + 1},${corner[1] + 1}` : "",
    };
  }

  // A wall is built on an empty cell, or taken away.
  wall = (cell, built) => (this.cells[cell] === (built ? EMPTY : WALL)
    ? this.with({cells: this.cells.with(cell, built ? WALL : EMPTY)}) : this);

  // A whole piece is taken off, or a wall.
  erase(cell) {
    const letter = this.at(cell);
    if (!letter) return this.wall(cell, false);
    return this.#without(letter).with({cells: this.cells.map(here => (here === letter ? EMPTY : here))});
  }

  move(letter, down, right) {
    const there = this.shifted(this.piece(letter), down, right);
    if (!there?.every(cell => [EMPTY, letter].includes(this.cells[cell]))) return this;
    return this.with({cells: this.cells.map((here, cell) =>
      (there.includes(cell) ? letter : here === letter ? EMPTY : here))});
  }

  // The goal of a piece is that far from where it is; nowhere else means none.
  aim(letter, down, right) {
    const there = this.shifted(this.piece(letter), down, right);
    if (!there || there.some(cell => this.cells[cell] === WALL)) return this;
    const free = [...this.#without(letter).goal].filter(([, cells]) => !cells.some(cell => there.includes(cell)));
    return this.with({goal: new Map(down || right ? [...free, [letter, there]] : free)});
  }

  #without = letter => this.with({goal: new Map([...this.goal].filter(([name]) => name !== letter))});

  // Pieces that do not fit the new size are taken off.
  resized(rows, columns) {
    const lost = new Set(this.cells.filter((_, cell) =>
      Math.floor(cell / this.columns) >= rows || cell % this.columns >= columns));
    const cells = Array.from({length: rows * columns}, (_, cell) => {
      const [row, column] = [Math.floor(cell / columns), cell % columns];
      const here = row < this.rows && column < this.columns ? this.cells[row * this.columns + column] : EMPTY;
      return isPiece(here) && lost.has(here) ? EMPTY : here;
    });
    return new Draft(rows, columns, cells);
  }
}
