// Input to a board by finger, mouse and keys. The game decides which moves are legal.

import {say} from "../lib/dom.js";
import {offer, offerPlaces} from "../picture/hints.js";
import {nearest, railsTo} from "./rails.js";

// A finger that moves less has tapped; one that moves more where nothing glides has swiped. Pixels of the screen.
const TAP = 5;
const SWIPE = 30;
const ARROWS = {ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0]};

export class Hand {
  board; game; held; chosen;

  // `game` has `glides(piece)`, the moves [{to, move}] of one piece, `tapped(piece)`, `tilts`, `play(move)`, a promise.
  constructor(board, game) {
    Object.assign(this, {board, game, held: null, chosen: null});
    const {svg} = board;
    svg.addEventListener("pointerdown", event => this.#take(event));
    svg.addEventListener("pointermove", event => this.#drag(event));
    svg.addEventListener("pointerup", event => this.#drop(event));
    svg.addEventListener("pointercancel", () => this.#letGo());
    // A finger on a piece moves the piece, anywhere else the page: touch-action of parts of a picture is not heeded.
    svg.addEventListener("touchstart", event => {
      if (event.target.closest(".able")) event.preventDefault();
    }, {passive: false});
    svg.addEventListener("keydown", event => this.#key(event));
  }

  // After each move: which pieces can be taken, said for those who do not see it.
  refresh() {
    this.#choose(null);
    this.board.svg.classList.toggle("whole", this.game.tilts);
    for (const piece of this.board.pieces) {
      const moves = this.game.glides(piece);
      const able = moves.length > 0 || this.game.tapped(piece) !== null;
      piece.group.classList.toggle("able", able);
      for (const name of ["tabindex", "role", "aria-label"]) piece.group.removeAttribute(name);
      if (!able) continue;
      piece.group.setAttribute("tabindex", "0");
      piece.group.setAttribute("role", "button");
      const ways = moves.map(({move}) => this.board.worded(move.move)).join("; ");
      piece.group.setAttribute("aria-label", `Piece ${piece.letter}${ways ? `, can move: ${ways}` : ""}`);
    }
  }

  #pieceOf(event) {
    const group = event.target.closest(".piece");
    return group && this.board.pieces.find(piece => piece.group === group);
  }

  #point = event => new DOMPoint(event.clientX, event.clientY).matrixTransform(this.board.svg.getScreenCTM().inverse());

  #take(event) {
    if (event.button !== 0 || this.game.busy || event.target.closest(".ghost")) return;
    const piece = this.#pieceOf(event);
    this.held = {piece, began: this.#point(event), client: [event.clientX, event.clientY], far: false, rails: null};
    this.board.svg.setPointerCapture(event.pointerId);
    if (piece && this.#lay()) piece.group.classList.add("held");
  }

  // The rails of the held piece as it stands now; false if it cannot move.
  #lay() {
    const {piece} = this.held;
    const targets = this.game.glides(piece).map(({to, move}) => ({x: to.x - piece.x, y: to.y - piece.y, move}));
    this.held.rails = targets.length ? railsTo(targets) : null;
    return this.held.rails !== null;
  }

  #drag(event) {
    const {held} = this;
    if (!held?.rails) return;
    held.last = event;
    if (held.waiting) return;
    const [x, y] = held.client;
    held.far ||= Math.hypot(event.clientX - x, event.clientY - y) > TAP;
    if (!held.far) return;
    const point = this.#point(event);
    const place = nearest(held.rails, point.x - held.began.x, point.y - held.began.y);
    held.place = place;
    this.board.place(held.piece, {x: held.piece.x + place.x, y: held.piece.y + place.y});
    if (held.rails.single && place.node.move && place.share > 0.98) this.#passOn(place.node);
  }

  // A step is whole and the finger still down: it is played, and the piece goes on from there.
  async #passOn(node) {
    const {held} = this;
    held.waiting = true;
    held.began = {x: held.began.x + node.x, y: held.began.y + node.y};
    await this.game.play(node.move, {mayTakeBack: true});
    if (this.held !== held) return;
    Object.assign(held, {waiting: false, place: null});
    held.piece.group.classList.add("held");
    if (!this.board.pieces.includes(held.piece) || !this.#lay()) this.#letGo();
    else this.#drag(held.last);
  }

  #drop(event) {
    const {held} = this;
    this.#letGo();
    if (!held || held.waiting) return;
    const [dx, dy] = [event.clientX - held.client[0], event.clientY - held.client[1]];
    if (held.far && held.rails) {
      if (held.place?.node.move) this.game.play(held.place.node.move, {mayTakeBack: true});
    } else if (!held.rails && Math.hypot(dx, dy) > SWIPE) {
      this.game.toward(Math.abs(dx) > Math.abs(dy) ? [Math.sign(dx), 0] : [0, Math.sign(dy)]);
    } else this.#tap(held.piece, held.began);
  }

  #letGo() {
    const {piece} = this.held ?? {};
    this.held = null;
    if (!piece) return;
    piece.group.classList.remove("held");
    this.board.place(piece, piece);
  }

  #tap(piece, point) {
    const moves = piece ? this.game.glides(piece) : [];
    const whole = piece && this.game.tapped(piece);
    if (moves.length === 1) this.game.play(moves[0].move);
    else if (moves.length) this.#choose(this.chosen === piece ? null : piece);
    else if (whole) this.game.play(whole);
    else this.#mean(this.game.meant(point), point);
  }

  // Of several moves that change what is there, each is offered where it alone changes something.
  #mean(moves, point) {
    this.#choose(null);
    if (moves.length === 1) this.game.play(moves[0]);
    else offerPlaces(this.board, moves, point, move => this.game.play(move));
  }

  // A piece with several ways: they are offered to be tapped.
  #choose(piece) {
    this.chosen = piece;
    const moves = piece ? this.game.glides(piece) : [];
    offer(this.board, moves.map(({to, move}) => ({piece, to, move})), ({move}) => this.game.play(move));
  }

  #key(event) {
    const piece = this.#pieceOf(event);
    if (!piece) return;
    const moves = this.game.glides(piece);
    if (event.key in ARROWS && moves.length) {
      event.preventDefault();
      event.stopPropagation();
      const [x, y] = ARROWS[event.key];
      const along = ({to}) => (to.x - piece.x) * x + (to.y - piece.y) * y;
      const [best] = moves.filter(move => along(move) > 0).sort((one, other) => along(one) - along(other));
      if (best) this.game.play(best.move).then(() => piece.group.focus());
      else say(`Piece ${piece.letter} cannot go there.`);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      const {x, y, width, height} = piece.group.getBBox();
      this.#tap(piece, {x: piece.x + x + width / 2, y: piece.y + y + height / 2});
    }
  }
}
