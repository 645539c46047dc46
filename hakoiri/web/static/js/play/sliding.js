// Sliding blocks by their rules, in place of a table: all configurations that can be reached are found when a page
// opens. A configuration is a string with a character for each piece: the cell of the top left corner of its bounding
// box. Pieces that are alike stand in reading order, so each has its letter by its place.

const WAYS = [["up", -1, 0], ["right", 0, 1], ["down", 1, 0], ["left", 0, -1]];

export class Sliding {
  pieces; wishes; walls; rows; columns; metric; blank; drawn; size; side; states; depths; numbers; goals;

  // `pieces` are [{letter, kind, axis, cells}], `wishes` [kind, cell], `walls` cells; hakoiri/render/player.py writes
  // them.
  constructor({run, picture, sliding}) {
    Object.assign(this, sliding,
      {drawn: picture, size: sliding.rows * sliding.columns, side: picture.width / sliding.columns});
    const covered = (cells, corner) => cells.map(([down, right]) =>
      (corner % this.columns + right < this.columns ? corner + down * this.columns + right : this.size));
    const fits = cells => cells.every(cell => cell < this.size && !this.walls.includes(cell));
    this.pieces.forEach((piece, place) => {
      const alike = this.pieces.filter(({kind}) => kind === piece.kind);
      Object.assign(piece, {
        // By corner the cells that it covers; null where it does not fit.
        places: Array.from({length: this.size}, (_, corner) => covered(piece.cells, corner))
          .map(cells => (fits(cells) ? cells : null)),
        ways: WAYS.filter(([, down]) => !piece.axis || (piece.axis === "column") === (down !== 0)),
        alike: piece.axis ? [place, 1] : [this.pieces.indexOf(alike[0]), alike.length],
        box: picture.parts.find(({name}) => name === piece.letter).shapes[0],
      });
    });
    this.#find(this.#read(run.start));
  }

  // All configurations by number, their depths, their moves, and from these their distances to the nearest goal.
  #find(start) {
    const [begins, targets] = [[], []];
    Object.assign(this, {states: [start], depths: [0], numbers: new Map([[start, 0]])});
    for (let place = 0; place < this.states.length; place++) {
      begins.push(targets.length);
      for (const {state} of this.#moves(this.states[place])) {
        if (!this.numbers.has(state)) {
          this.numbers.set(state, this.states.length);
          this.states.push(state);
          this.depths.push(this.depths[place] + 1);
        }
        targets.push(this.numbers.get(state));
      }
    }
    this.goals = new Int32Array(this.states.length).fill(-1);
    const reached = [...this.states.keys()].filter(place => this.#isGoal(this.#corners(this.states[place])));
    reached.forEach(place => { this.goals[place] = 0; });
    for (const place of reached) {
      for (const there of targets.slice(begins[place], begins[place + 1])) {
        if (this.goals[there] >= 0) continue;
        this.goals[there] = this.goals[place] + 1;
        reached.push(there);
      }
    }
  }

  #corners = state => Array.from(state, letter => letter.charCodeAt(0));

  #isGoal(corners) {
    const covers = (cell, kind) => this.pieces.some((piece, place) => (kind === this.blank
      ? piece.places[corners[place]].includes(cell) : piece.kind === kind && corners[place] === cell));
    return this.wishes.every(([kind, cell]) => covers(cell, kind) !== (kind === this.blank));
  }

  * #moves(state) {
    const [corners, taken] = [this.#corners(state), new Uint8Array(this.size)];
    const mark = ({places}, place, value) => { for (const cell of places[corners[place]]) taken[cell] = value; };
    this.pieces.forEach((piece, place) => mark(piece, place, 1));
    for (const [place, piece] of this.pieces.entries()) {
      mark(piece, place, 0);
      for (const [to, way] of this.#reach(piece, corners[place], taken)) {
        yield {piece, to, way, from: corners[place], state: this.#moved(corners, place, to)};
      }
      mark(piece, place, 1);
    }
  }

  // The corners that a piece gets to by one move, nearest first, with its way.
  #reach({places, ways}, corner, taken) {
    const found = [[corner, []]];
    for (const [here, way] of found) {
      for (const [name, down, right] of ways) {
        const there = here + down * this.columns + right;
        if (!places[there] || (right && there % this.columns !== here % this.columns + right)
            || places[there].some(cell => taken[cell])) {
          continue;
        }
        if (this.metric === "straight" && way.length && way[0] !== name) continue;
        if (!found.some(([other]) => other === there)) found.push([there, [...way, name]]);
      }
      if (this.metric === "unit") break;
    }
    return found.slice(1);
  }

  #moved(corners, place, to) {
    const after = corners.with(place, to);
    const [first, count] = this.pieces[place].alike;
    if (count > 1) after.splice(first, count, ...after.slice(first, first + count).sort((one, other) => one - other));
    return String.fromCharCode(...after);
  }

  #read(text) {
    const cells = [...text.replaceAll("/", "")];
    const corners = this.pieces.map(({letter}) => {
      const own = cells.flatMap((other, cell) => (other === letter ? [cell] : []));
      return Math.floor(own[0] / this.columns) * this.columns + Math.min(...own.map(cell => cell % this.columns));
    });
    // Its pieces may have any order.
    return corners.reduce((state, _, place) => this.#moved(this.#corners(state), place, state.charCodeAt(place)),
      String.fromCharCode(...corners));
  }

  numberOf = text => this.numbers.get(this.#read(text));

  text(place) {
    const [cells, corners] = [new Array(this.size).fill("."), this.#corners(this.states[place])];
    this.walls.forEach(cell => { cells[cell] = "#"; });
    this.pieces.forEach(({places, letter}, piece) => places[corners[piece]].forEach(cell => { cells[cell] = letter; }));
    return cells.join("").match(new RegExp(`.{${this.columns}}`, "g")).join("/");
  }

  #at = corner => ({x: corner % this.columns * this.side, y: Math.floor(corner / this.columns) * this.side});

  picture(place) {
    const corners = this.#corners(this.states[place]);
    const places = new Map(this.pieces.map(({letter}, piece) => [letter, this.#at(corners[piece])]));
    return {...this.drawn, parts: this.drawn.parts.map(part => ({...part, ...places.get(part.name)}))};
  }

  moves(place) {
    return [...this.#moves(this.states[place])].map(({piece: {letter: name, box}, from, to, way, state}) => {
      const steps = way.join(" ").replace(/(\w+)(?: \1\b)+/g, (run, word) => `${word} ${run.split(" ").length}`)
        .replace(/ (?=[a-z])/g, ", ");
      const places = [from, to].map(this.#at).map(({x, y}) => [x + box.x + box.width / 2, y + box.y + box.height / 2]);
      return {target: this.numbers.get(state), move: `${name} ${steps}`, moved: [{name, ...this.#at(to)}], changed: [],
        gone: [], new: [], places};
    });
  }
}
