// A game on the configurations of a run: its position, its history, its legal moves. Draws only the board.

import {centre, distance} from "../picture/hints.js";

// So near to a place is on it.
const REACH = 20;
const WAYS = {"0,-1": "up", "0,1": "down", "-1,0": "left", "1,0": "right"};
const wayOf = move => move.move.split(/[ ,]/)[0];

export class Game {
  // `changed` is called after each move, `failed` with the error of one that could not be made.
  constructor(positions, board, changed, failed) {
    Object.assign(this, {board, changed, failed, positions, past: [], place: -1, now: null, busy: false});
  }

  // Any configuration; the past is forgotten.
  async open(configuration) {
    const found = await this.positions.of(configuration);
    Object.assign(this, {past: [], place: -1});
    this.#arrive(found, "", null);
  }

  // The one who drags a piece back where it came from takes a move back.
  play(move, {mayTakeBack = false} = {}) {
    if (mayTakeBack && this.past[this.place - 1]?.at === move.at) return this.undo();
    return this.#turn(async () => this.#arrive(await this.positions.of(move.at), this.board.worded(move.move), move.change));
  }

  undo() {
    return this.to(this.place - 1);
  }

  redo() {
    return this.to(this.place + 1);
  }

  // Any step of the past, or the present one again, whose distance may be known by now.
  to(place) {
    if (!this.past[place]) return Promise.resolve();
    return this.#turn(async () => {
      const {at} = this.past[place];
      const found = await this.positions.of(at);
      const change = this.now.moves.find(move => move.at === at)?.change ?? null;
      this.place = place;
      Object.assign(this.past[place], {goal: found.goal_distance, lost: found.lost});
      this.#show(found, change);
    });
  }

  // One thing at a time. After one that fails the board is as it was.
  async #turn(step) {
    if (this.busy) return;
    this.busy = true;
    try {
      await step();
    } catch (error) {
      this.board.show(this.now.picture);
      this.failed(error);
    } finally {
      this.busy = false;
    }
  }

  #arrive(found, words, change) {
    this.past = [...this.past.slice(0, this.place + 1), {key: found.key, at: found.at, words, goal: found.goal_distance, lost: found.lost}];
    this.place = this.past.length - 1;
    this.#show(found, change);
  }

  #show(found, change) {
    this.now = found;
    this.board.show(found.picture, change);
    this.changed(this);
    for (const move of found.best.slice(0, 1)) this.positions.of(move.at).catch(() => {});
  }

  // The steps after which the goal is farther, or out of reach: their numbers.
  get mistakes() {
    const worse = (before, after) => before.goal !== null && (after.lost || after.goal > before.goal);
    return this.past.flatMap((step, place) => (place && worse(this.past[place - 1], step) ? [place] : []));
  }

  // The moves that glide a piece, each with where to.
  glides(piece) {
    return this.now.moves.filter(move => move.glide?.name === piece.name).map(move => ({to: move.glide, move}));
  }

  // Of moves that take several pieces along, the one that a tap on a piece means: the least one, if it is in all others.
  tapped(piece) {
    const moves = this.now.moves.filter(move => move.moved.size > 1 && move.moved.has(piece.name));
    const [least, ...others] = moves.sort((one, other) => one.moved.size - other.moved.size);
    if (!least || others.some(other => other.moved.size === least.moved.size)) return null;
    return others.every(other => [...least.moved].every(name => other.moved.has(name))) ? least : null;
  }

  // The moves that a tap beside all pieces that glide may mean: the one centred there, else all that change what is there.
  meant(point) {
    const found = this.now.moves.filter(move => move.places.some(place => distance(place, point) < REACH));
    const centred = found.filter(move => distance(centre(move.places), point) < REACH);
    return centred.length === 1 ? centred : found;
  }

  // The move that tilts the whole board to a side.
  toward(direction) {
    const move = this.now.moves.find(found => wayOf(found) === WAYS[direction.join(",")]);
    return move ? this.play(move) : Promise.resolve();
  }

  get tilts() {
    return this.now.moves.some(move => Object.values(WAYS).includes(wayOf(move)));
  }
}
