// The board of a run: distances at every step, hints, films, a link to any configuration.

import {button, h, put, say} from "../lib/dom.js";
import {counted, number} from "../lib/format.js";
import {Board} from "../picture/board.js";
import {shade} from "../picture/hints.js";
import {Hand} from "../play/drag.js";
import {along, Film, SPEEDS, towardGoal} from "../play/film.js";
import {Game} from "../play/game.js";
import {trace} from "../play/trace.js";
import {compute, get} from "../lib/api.js";
import {GOALS} from "../parts/families.js";
import {startOf} from "../parts/pictures.js";
import {shareButton} from "../parts/share.js";
import {Statistics} from "../parts/statistics.js";
import {address, note} from "../router.js";

export async function show(place, {run, query}) {
  const view = new View(run);
  await view.open(query);
  put(place, view.element);
  view.refresh();
  const keys = event => view.key(event);
  document.addEventListener("keydown", keys);
  return () => {
    document.removeEventListener("keydown", keys);
    view.film.stop();
  };
}

class View {
  constructor(run) {
    this.run = run;
    this.board = new Board();
    this.game = new Game(run.run, this.board, () => this.refresh(), error => { this.wrong.textContent = error.message; });
    this.hand = new Hand(this.board, this.game);
    this.statistics = new Statistics(run, this.board);
    this.shaded = localStorage.getItem("shaded") !== "no";
    this.film = new Film(this.game, towardGoal(this.game), () => this.#controls());
    this.#build();
  }

  // Opens the path that the address names, else its configuration, else the start.
  async open({at, from, to}) {
    const start = from ?? this.run.start ?? (await startOf(this.run)).configuration;
    await this.game.open(from ?? at ?? start);
    this.started = (await this.game.positions.of(start)).key;
    if (!from || !to) return;
    this.walk = await compute(["runs", this.run.run, "path"], {from, to});
    this.film.next = along(this.game, this.walk.configurations);
  }

  #build() {
    const tools = {
      hint: button("Hint", () => this.hint(), {class: "strong", title: "H"}),
      undo: button("Undo", () => this.game.undo(), {title: "Z"}),
      redo: button("Redo", () => this.game.redo(), {title: "Y"}),
      play: button("", () => (this.film.playing ? this.film.stop() : this.film.start()), {title: "Space"}),
      shuffle: this.run.kind === "explore" && button("Shuffle", () => this.#shuffle(), {}),
      restart: button("Start again", () => this.#restart(), {}),
      edit: this.run.puzzle in GOALS && h("a", {class: "button"}, "Edit the board"),
    };
    Object.assign(this, {tools});
    this.distance = h("p", {class: "distance"});
    this.aside = h("p", {class: "muted"});
    this.trace = h("div", {class: "trace"});
    this.moves = h("ol", {class: "moves"});
    this.wrong = h("p", {class: "reason", role: "alert"});
    const speed = h("select", {"aria-label": "Speed of the film", onchange: event => { this.film.pause = SPEEDS[event.target.value]; }},
      Object.keys(SPEEDS).map(name => h("option", {selected: name === "usual"}, name)));
    const shading = h("label", {class: "check"}, h("input", {type: "checkbox", checked: this.shaded, onchange: event => this.#shading(event.target.checked)}), " shade the best moves");
    this.element = h("section", {class: "play"},
      h("div", {class: "figures"}, this.distance, this.aside),
      h("div", {class: "stage"}, this.board.svg, h("p", {class: "where"}, this.aim = h("span", {}), h("br"), this.text = h("code", {}))),
      this.trace,
      h("div", {class: "panel"},
        h("div", {class: "row"}, tools.hint, tools.undo, tools.redo),
        h("div", {class: "row"}, tools.play, speed),
        h("div", {class: "row"}, tools.restart, tools.shuffle, shareButton(), tools.edit), shading, this.wrong,
        h("h2", {}, "Legal moves"), this.moves),
      this.statistics.element);
  }

  refresh() {
    const {now, past, place} = this.game;
    if (!this.element.isConnected || !now) return;
    this.wrong.textContent = "";
    this.hand.refresh();
    this.#shade();
    this.#figures(now, past, place);
    this.statistics.show(now.key);
    this.#list(now);
    this.#controls();
    this.text.textContent = this.board.spelled(now.configuration);
    this.aim.textContent = now.aim ? `Goal: ${now.aim}` : "";
    if (this.tools.edit) this.tools.edit.href = address(["new", "sliding"], {goal: GOALS[this.run.puzzle], ...this.run.parameters, start: now.configuration});
    note(["runs", this.run.run, "board"], this.walk ? this.#walked() : {at: now.configuration});
  }

  // At the start of a path, the address keeps both its ends.
  #walked() {
    const [from, to] = [this.walk.configurations[0], this.walk.configurations.at(-1)];
    return this.game.now.key === this.started ? {from, to} : {at: this.game.now.configuration};
  }

  #figures(now, past, place) {
    const away = now.goal_distance;
    const solved = away === 0;
    if (away === null) this.#unknown(now);
    else put(this.distance, solved ? h("strong", {class: "big"}, "Solved") : [h("strong", {class: "big"}, number(away)), away === 1 ? "move to the goal" : "moves to the goal"]);
    this.distance.classList.toggle("solved", solved);
    const from = now.depth === null ? null : `${number(now.depth)} from the start`;
    // On a given path only the end is a goal, so no move is a mistake.
    const mistakes = this.walk ? [] : this.game.mistakes;
    const made = mistakes.filter(step => step <= place).length;
    const part = this.run.kind === "census" && now.component !== null ? `component ${now.component}` : null;
    put(this.aside, [from, part, `${number(place)} played`, made && counted(made, "mistake")].filter(Boolean).join(" · "));
    put(this.trace, trace(this.game, mistakes));
    const moved = past[place].words;
    say(`${moved ? `${moved}. ` : ""}${mistakes.includes(place) ? "A mistake. " : ""}${solved ? "Solved." : now.lost ? "No way to the goal." : away === null ? "" : `${number(away)} to the goal.`}`);
  }

  // A large run has its goal distances in a run of its own; a button creates it.
  #unknown(now) {
    if (now.lost) return void put(this.distance, h("strong", {}, "No way to the goal"));
    const findable = this.run.status === "complete" && now.goal_distance_unknown.includes("hardest");
    const reason = findable ? "not computed yet" : now.goal_distance_unknown;
    put(this.distance, h("span", {}, `Distance to the goal: ${reason} `), findable && button("Compute all", () => this.#compute()));
  }

  async #compute() {
    try {
      const waiting = ({progress, headline}) => put(this.distance, progress?.headline || headline || "computing …");
      await compute(["runs", this.run.run, "hardest"], {limit: 1}, {waiting});
      this.game.positions.forget();
      await this.game.open(this.game.now.key);
    } catch (error) {
      put(this.distance, h("span", {class: "reason"}, error.message));
    }
  }

  // The focus stays on the list for play by keys.
  #list(now) {
    const here = this.moves.contains(document.activeElement);
    put(this.moves, now.moves.map(move => h("li", {},
      h("button", {type: "button", class: now.best.includes(move) ? "move best" : "move", onclick: () => this.game.play(move)},
        h("span", {}, this.board.worded(move.move)),
        h("span", {class: "muted"}, change(now, move))))));
    if (!now.moves.length) put(this.moves, h("li", {class: "muted"}, "none: this is a dead end"));
    if (here) this.moves.querySelector("button")?.focus();
  }

  // Shades the next move of the path, else the moves that lead nearer to the goal.
  async #shade() {
    const {now} = this.game;
    const best = this.walk ? [await this.film.next()].filter(Boolean) : now.best;
    if (now !== this.game.now) return;
    const hint = this.hinted === now.key ? best.slice(0, 1) : null;
    shade(this.board, hint ?? (this.shaded ? best : []));
  }

  #shading(wanted) {
    this.shaded = wanted;
    localStorage.setItem("shaded", wanted ? "yes" : "no");
    this.#shade();
  }

  #controls() {
    const {tools, game, film} = this;
    tools.undo.disabled = game.place <= 0;
    tools.redo.disabled = game.place >= game.past.length - 1;
    tools.hint.textContent = this.walk ? "Step" : this.hinted === game.now?.key ? "Take the hint" : "Hint";
    tools.hint.disabled = !this.walk && !game.now?.best.length;
    tools.play.textContent = film.playing ? "❚❚ Pause" : this.walk ? `▶ Play the path of ${counted(this.walk.length, "move")}` : "▶ Play the solution";
    tools.play.disabled = !film.playing && !this.walk && !game.now?.best.length;
    tools.restart.disabled = game.now?.key === this.started;
  }

  // Shows a best move; asked again, makes it.
  hint() {
    if (this.walk) return this.film.step();
    const {now, board} = this.game;
    const [move] = now.best;
    if (!move || this.hinted === now.key) return move ? this.game.play(move) : Promise.resolve();
    this.hinted = now.key;
    this.#shade();
    this.#controls();
    this.aside.textContent = `Hint: ${board.worded(move.move)}`;
    say(this.aside.textContent);
    return Promise.resolve();
  }

  async #restart() {
    this.film.stop();
    await this.game.open(this.started);
  }

  // Opens a random configuration of the run.
  async #shuffle() {
    this.film.stop();
    const depth = 1 + Math.floor(Math.random() * this.run.depth);
    const {keys} = await get(["runs", this.run.run, "layers", String(depth)], {limit: 1000});
    await this.game.open(keys[Math.floor(Math.random() * keys.length)]);
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, select, textarea, dialog")) return;
    const arrows = {ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0]};
    const actions = {h: () => this.hint(), z: () => this.game.undo(), y: () => this.game.redo()};
    if (event.key in arrows) this.game.toward(arrows[event.key]);
    else if (event.key === " " && event.target.closest("button, a, .piece") === null) {
      event.preventDefault();
      this.tools.play.click();
    } else actions[event.key]?.();
  }
}

// The effect of a move on the distance: 1 nearer, same distance, 1 farther.
function change(now, {goal_distance: after}) {
  const before = now.goal_distance;
  if (after === null) return before !== null || now.lost ? "no way to the goal" : "";
  if (before === null) return number(after);
  const step = after - before;
  const words = step < 0 ? `${-step} nearer` : step > 0 ? `${step} farther` : "same distance";
  return `${number(after)} · ${words}`;
}
