// Positions of a run, cached: the facts about a configuration, and the change of its picture by each move.

import {get} from "../lib/api.js";

// So many are kept.
const MOST = 300;

export class Positions {
  constructor(run) {
    this.run = run;
    this.known = new Map();
  }

  // A position by text or key; fetched once.
  of(configuration) {
    if (!this.known.has(configuration)) {
      if (this.known.size >= MOST) this.known.delete(this.known.keys().next().value);
      const found = this.#ask(configuration);
      found.catch(() => this.known.delete(configuration));
      this.known.set(configuration, found);
    }
    return this.known.get(configuration);
  }

  forget() {
    this.known.clear();
  }

  async #ask(configuration) {
    const where = ["runs", this.run, "positions", configuration];
    const [position, drawn] = await Promise.all([get(where), get(["runs", this.run, "pictures", configuration])]);
    const changes = new Map(drawn.moves.map(move => [move.key, move]));
    const moves = position.moves.map(move => moveOf(move, changes.get(move.key)));
    const lost = position.goal_distance === null && position.goal_distance_unknown.startsWith("no goal can be reached");
    return {...position, lost, aim: drawn.goal_text, picture: drawn.picture, moves, best: bestOf(position, moves)};
  }
}

// A move glides where one piece is moved and none looks different; others may leave the board.
function moveOf(move, change) {
  const glides = change.moved.length === 1 && !change.changed.length;
  const places = change.places.map(([x, y]) => ({x, y}));
  return {...move, change, places, moved: new Set(change.moved.map(part => part.name)), glide: glides ? change.moved[0] : null};
}

// The moves after which the goal is nearer.
const bestOf = (position, moves) => (position.goal_distance
  ? moves.filter(move => move.goal_distance !== null && move.goal_distance < position.goal_distance) : []);
