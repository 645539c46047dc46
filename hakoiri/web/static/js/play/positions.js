// Positions of a run, cached: the facts about a configuration, and the change of its picture by each move.

import {get} from "../lib/api.js";

// So many are kept.
const MOST = 300;

/**
 * `at` names the position that a move leads to, `glide` is the part that moves alone; `change` is that of the picture.
 * @typedef {{key: string, at: string, move: string, goal_distance?: number | null, places: {x: number, y: number}[],
 *   moved: Set<string>, glide: any, change: any}} Move
 * @typedef {{key: string, at: string, configuration: string, goal?: boolean, goal_distance: number | null,
 *   lost?: boolean, picture: any, aim?: string, moves: Move[], best: Move[]}} Position
 */

export class Positions {
  /** @type {string} The name of a run. */ run;
  /** @type {Map<string, number> | null} */ ways;
  /** @type {Map<string, Promise<Position>>} */ known;

  // `ways` are the moves left to a target, by key: if it is given, they take the place of the distances to the goal.
  constructor(run, ways = null) {
    Object.assign(this, {run, ways, known: new Map()});
  }

  /** A position by text or key; fetched once. @param {string} configuration */
  of(configuration) {
    if (!this.known.has(configuration)) {
      if (this.known.size >= MOST) this.known.delete(this.known.keys().next().value);
      const found = this.ask(configuration);
      found.catch(() => this.known.delete(configuration));
      this.known.set(configuration, found);
    }
    return this.known.get(configuration);
  }

  forget = () => { this.known.clear(); };

  async ask(configuration) {
    const where = ["runs", this.run, "positions", configuration];
    const [facts, drawn] = await Promise.all([get(where), get(["runs", this.run, "pictures", configuration])]);
    const left = found => ({...found, goal_distance: this.ways ? this.ways.get(found.key) ?? null
      : found.goal_distance});
    // Moves beyond the layers that a run has found cannot be followed.
    const moves = facts.moves.filter(move => move.depth !== null || facts.depth === null)
      .flatMap(move => drawn.moves.filter(({key}) => key === move.key).map(change => moveOf(left(move), change)));
    const position = left(facts);
    return {...position, ...placed(drawn, facts), lost: facts.lost && !this.ways, moves, best: bestOf(position, moves)};
  }
}

// Positions of a puzzle without a run: nothing is known of them but their moves.
export class Boards extends Positions {
  async ask(configuration) {
    const drawn = await get(["boards", `${this.run}.json`], {conf: configuration, moves: "true"});
    return {...drawn, ...placed(drawn, drawn), goal_distance: null,
      moves: drawn.moves.map(change => moveOf({}, change)), best: []};
  }
}

// The name by which a position is asked for again: where images are merged, the one that is drawn.
const placed = (drawn, {key, configuration}) => ({key, at: drawn.at ?? key,
  configuration: drawn.configuration ?? configuration, aim: drawn.goal_text, picture: drawn.picture});

// A move glides where one piece is moved and none looks different; others may leave the board.
function moveOf(move, change) {
  const glides = change.moved.length === 1 && !change.changed.length;
  const places = change.places.map(([x, y]) => ({x, y}));
  return {...move, key: change.key, at: change.at ?? change.key, move: change.move ?? move.move ?? "", change, places,
    moved: new Set(change.moved.map(part => part.name)), glide: glides ? change.moved[0] : null};
}

// The moves after which the goal is nearer.
const bestOf = (position, moves) => (position.goal_distance
  ? moves.filter(move => move.goal_distance !== null && move.goal_distance < position.goal_distance) : []);
