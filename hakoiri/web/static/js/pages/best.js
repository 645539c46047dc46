// The best play of an optimisation so far, replayed board by board.

import {get} from "../lib/api.js";
import {button, counted, h, number, put, say} from "../lib/dom.js";
import {line} from "../charts/line.js";
import {Board} from "../picture/board.js";
import {Film} from "../play/film.js";

export async function show(place, {run}, current) {
  const found = await get(["runs", run.run, "play"]);
  if (!current()) return null;
  const replay = new Replay(run, found);
  put(place, replay.element);
  replay.show(0);
  return () => replay.film.stop();
}

class Replay {
  constructor(run, found) {
    Object.assign(this, {found, at: 0});
    this.film = new Film(this, () => { this.start.textContent = this.film.playing ? "❚❚ Pause" : "▶ Replay"; });
    this.board = new Board();
    this.words = h("p", {class: "distance"});
    this.trace = h("div", {class: "trace"});
    this.slider = h("input", {type: "range", min: 0, max: found.boards.length - 1, value: 0, "aria-label": "Board",
      oninput: () => this.#to(Number(this.slider.value))});
    this.back = button("‹ Back", () => this.#to(this.at - 1));
    this.next = button("Step ›", () => this.#to(this.at + 1));
    this.start = button("▶ Replay", () => (this.film.playing ? this.film.stop() : this.#start()), {class: "strong"});
    const proof = found.proved ? "proved optimal" : "the best found so far";
    const part = found.filmed <= found.moves ? `the first ${counted(found.filmed - 1, "move")} are shown` : null;
    this.element = h("section", {class: "play"},
      h("div", {class: "figures"}, this.words,
        h("p", {class: "muted"}, [`${counted(found.score, "point")} in ${counted(found.moves, "move")}`, proof,
          part].filter(Boolean).join(" · "))),
      h("div", {class: "stage"}, this.board.svg),
      this.trace,
      h("div", {class: "panel"}, this.slider, h("div", {class: "row"}, this.start, this.back, this.next),
        h("details", {}, h("summary", {}, "Sequence of moves"), h("p", {}, h("code", {}, found.sequence)))));
  }

  show(at) {
    const {boards} = this.found;
    this.at = Math.max(0, Math.min(boards.length - 1, at));
    const {move, score, picture} = boards[this.at];
    this.board.show(picture);
    put(this.words, h("strong", {class: "big"}, number(score)), ` points · ${move}`);
    put(this.trace, line(boards.map(board => board.score), this.at, "The score after each move"));
    this.slider.value = this.at;
    this.back.disabled = this.at === 0;
    this.next.disabled = this.at === boards.length - 1;
    say(`${move}: ${number(score)} points`);
  }

  // What a film plays: one move leads on.
  get now() { return {best: this.next.disabled ? [] : [this.at + 1]}; }
  play = at => this.show(at);

  #start() {
    if (this.next.disabled) this.show(0);
    this.film.start();
  }

  #to(at) {
    this.film.stop();
    this.show(at);
  }
}
