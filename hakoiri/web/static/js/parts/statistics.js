// A designer's figures of the board that is shown: asked for while the panel is open, and after each move of a small
// run.

import {compute} from "../lib/api.js";
import {button, h, number, put} from "../lib/dom.js";
import {Histogram} from "../charts/histogram.js";
import {factsOf} from "./fields.js";

// For larger runs a process answers, so a button asks.
const SMALL = 200000;

export class Statistics {
  // `board` has the letters that the player sees.
  constructor(run, board) {
    Object.assign(this, {run, board, key: null, asked: null});
    this.chart = new Histogram({bar: "step", of: "% of the moves are good",
      title: "Good moves by step of a shortest solution"});
    this.place = h("div", {});
    this.element = h("details", {class: "statistics answers", ontoggle: () => this.refresh()},
      h("summary", {}, "Statistics of this board"), this.place);
  }

  // The board from now on.
  show(key) {
    this.key = key;
    this.refresh();
  }

  refresh() {
    if (!this.element.open || this.asked === this.key) return;
    if (this.asked !== null && this.run.configurations > SMALL) put(this.place,
      h("p", {class: "row"}, button("Compute for this board", () => this.#ask())));
    else this.#ask();
  }

  async #ask() {
    const key = this.asked = this.key;
    const told = (...words) => this.asked === key && put(this.place, ...words);
    if (!this.place.hasChildNodes() || this.run.configurations > SMALL) told(h("p", {class: "muted"}, "computing …"));
    await compute(["runs", this.run.run, "statistics"], {from: key},
      {waiting: ({headline}) => told(h("p", {class: "muted"}, headline || "computing …"))})
      .then(found => told(...this.#figures(found))).catch(error => told(h("p", {class: "reason"}, error.message)));
  }

  #figures({good, idle, ...found}) {
    const letters = [...idle ?? ""].map(name => this.board.called(name)?.letter ?? name);
    const figures = [
      ["moves", found.moves], ["shortest solutions", found.solutions], ["forced moves", found.forced],
      ["moves at a step", found.branching], ["positions", found.positions], ["dead ends", found.dead_ends],
    ].map(([name, value]) => [name, exact(value)]);
    if (idle !== null) figures.push(["pieces that need not move", letters.sort().join(" ") || "none"]);
    return [
      factsOf(figures),
      ...(good.length ? [h("h3", {}, "Good moves by step, in %"),
        this.chart.show(good.map(share => Math.round(100 * share)), null, 1).element] : []),
    ];
  }
}

// JSON numbers of more digits than these are not exact here.
const exact = value => (value > Number.MAX_SAFE_INTEGER ? `about ${value.toExponential(1)}` : number(value));
