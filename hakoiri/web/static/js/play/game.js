// A game on the configurations of a run: its position, its record, its legal moves. Draws only the board.

import {centre, distance} from "../picture/hints.js";
import {movesIn, Record} from "./record.js";

// So near to a place is on it.
const REACH = 20;
const WAYS = {"0,-1": "up", "0,1": "down", "-1,0": "left", "1,0": "right"};
const wayOf = move => move.move.split(/[ ,]/)[0];

/** @param {Position} found */
const stepOf = ({at, configuration, goal_distance: goal, lost}, board, words = "") => (
  {at, configuration, spelled: board.spelled(configuration), words, goal, lost});

// A configuration without its letters.
const outline = text => text.replace(/[^./#]/g, "*");

function illegal(word, place) {
  throw new Error(`move ${place + 1}: there is no move ${word} here`);
}

/**
 * @typedef {import("./positions.js").Move} Move
 * @typedef {import("./positions.js").Position} Position
 */

export class Game {
  board; changed; failed; busy;
  /** @type {import("./positions.js").Positions} */ positions;
  /** @type {Record} */ record;
  /** @type {import("./record.js").Step[]} */ past;
  /** @type {number} The place of the present step among those. */ place;
  /** @type {Position} */ now;

  // `changed` is called after each move, `failed` with the error of one that could not be made.
  constructor(positions, board, changed, failed) {
    Object.assign(this, {board, changed, failed, positions, past: [], place: -1, now: null, record: null, busy: false});
  }

  /** A new game from any configuration. @param {string} configuration */
  async open(configuration) {
    const found = await this.positions.of(configuration);
    this.board.clear();
    this.board.show(found.picture);
    const step = stepOf(found, this.board);
    // Pieces keep the letters that they are asked for by.
    if (this.board.lettered && outline(configuration) === outline(step.spelled)) step.spelled = configuration;
    this.record = new Record({steps: [step]});
    this.#show(found);
  }

  /** A game that was begun before. @param {Record} record */
  async resume(record) {
    const found = await this.positions.of(record.step.at);
    this.record = record;
    this.#show(found);
  }

  /** The one who drags a piece back where it came from takes a move back. @param {Move} move */
  play(move, {mayTakeBack = false} = {}) {
    if (mayTakeBack && this.past[this.place - 1]?.at === move.at) return this.undo();
    return this.#turn(() => this.#make(move));
  }

  undo = () => this.to(this.place - 1);
  redo = () => this.to(this.place + 1);

  // Any step of the line, or the present one again, whose distance may be known by now.
  to = place => (this.past[place] ? this.visit(this.record.line[place]) : Promise.resolve());

  // Any step of the record.
  visit = number => this.#turn(() => this.#visit(number));

  // The next of the moves tried here in place of the last one.
  aside() {
    const [next] = this.record.beside(this.record.here);
    return next && this.visit(next);
  }

  /** Plays a text from the first step. @param {string} text */
  read(text) {
    return this.#turn(async () => {
      const left = [];
      await this.#visit(0);
      for (const word of movesIn(text)) {
        const {record, place} = this;
        if (word === "(") left.push(record.here);
        if (word === "(") await this.#visit(record.step.before ?? 0);
        else if (word === ")") await this.#visit(left.pop() ?? 0);
        else {
          await this.#make(this.now.moves.find(({move}) => this.board.worded(move) === word) ?? illegal(word, place));
        }
      }
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

  // What a move does to the board is seen before the server has said where it leads.
  #step(change) {
    if (!change) return;
    const moved = new Map(change.moved.map(part => [part.name, part]));
    const parts = this.now.picture.parts.filter(({name}) => !change.gone.includes(name));
    this.board.show({...this.now.picture, parts: parts.map(part => ({...part, ...moved.get(part.name)}))}, change);
  }

  async #make(move) {
    const words = this.board.worded(move.move);
    this.#step(move.change);
    const found = await this.positions.of(move.at);
    this.board.show(found.picture);
    this.record.add(stepOf(found, this.board, words));
    this.#show(found);
  }

  async #visit(number) {
    const {at} = this.record.steps[number];
    this.#step(this.now.moves.find(move => move.at === at)?.change);
    const found = await this.positions.of(at);
    this.record.go(number);
    Object.assign(this.record.step, {goal: found.goal_distance, lost: found.lost});
    this.#show(found);
  }

  #show(found) {
    const {line, here, steps} = this.record;
    Object.assign(this, {now: found, past: line.map(number => steps[number]), place: line.indexOf(here)});
    this.board.show(found.picture);
    this.board.spell(this.record.step);
    this.changed(this);
    for (const move of found.best.slice(0, 1)) this.positions.of(move.at).catch(() => {});
  }

  // The steps after which the goal is farther, or out of reach: their numbers.
  get mistakes() {
    const worse = (before, after) => before.goal !== null && (after.lost || after.goal > before.goal);
    return this.past.flatMap((step, place) => (place && worse(this.past[place - 1], step) ? [place] : []));
  }

  // The moves that glide a piece, each with where to.
  glides = piece => this.now.moves.filter(move => move.glide?.name === piece.name)
    .map(move => ({to: move.glide, move}));

  // Of moves that take several pieces along, the one that a tap on a piece means: the least one, if it is in all
  // others.
  tapped(piece) {
    const moves = this.now.moves.filter(move => move.moved.size > 1 && move.moved.has(piece.name));
    const [least, ...others] = moves.sort((one, other) => one.moved.size - other.moved.size);
    if (!least || others.some(other => other.moved.size === least.moved.size)) return null;
    return others.every(other => [...least.moved].every(name => other.moved.has(name))) ? least : null;
  }

  // The moves that a tap beside all pieces that glide may mean: the one centred there, else all that change what is
  // there.
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

  get tilts() { return this.now.moves.some(move => Object.values(WAYS).includes(wayOf(move))); }
}
