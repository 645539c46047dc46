// The board of a run. To play, answers are hidden until they are asked for; to analyse, all are shown at every step.

import {compute, get} from "../lib/api.js";
import {address, button, counted, enable, h, note, number, put, say, sheet} from "../lib/dom.js";
import {line} from "../charts/line.js";
import {GOALS, rulesOf} from "../parts/families.js";
import {startOf} from "../parts/pictures.js";
import {shareButton} from "../parts/share.js";
import {Statistics} from "../parts/statistics.js";
import {Board} from "../picture/board.js";
import {shade} from "../picture/hints.js";
import {still} from "../picture/shapes.js";
import {Hand} from "../play/drag.js";
import {Film, SPEEDS} from "../play/film.js";
import {Game} from "../play/game.js";
import {Positions} from "../play/positions.js";
import {Record} from "../play/record.js";

// The moves shown before the present one, and after it.
const SHOWN = 40;
// Up to this size, paths from anywhere are found at once.
const SMALL = 200000;

export async function show(place, {run, query, tab = "board"}, current = () => true) {
  let sorry = "";
  let view = new View(run, query.to ?? null);
  await view.open(query).catch(error => {
    sorry = `${error.message}. The board is at the start.`;
    view = new View(run, null);
    return view.open({at: null});
  });
  if (!current()) return null;
  view.tab = tab;
  put(place, view.element);
  view.refresh();
  view.wrong.textContent = sorry;
  const keys = event => view.key(event);
  document.addEventListener("keydown", keys);
  return () => {
    document.removeEventListener("keydown", keys);
    view.film.stop();
  };
}

class View {
  // `target` is the end of a given path, or null. A run that stopped at its first goal has the path to that one.
  constructor(run, target) {
    const ended = run.until_goal && run.status === "complete" && run.goal_depth !== null;
    Object.assign(this, {run, target, stopped: !target && ended});
    this.ways = target || this.stopped ? new Map() : null;
    this.board = new Board();
    this.positions = new Positions(run.run, this.ways);
    this.game = new Game(this.positions, this.board, () => this.refresh(),
      error => { this.wrong.textContent = error.message; });
    this.hand = new Hand(this.board, this.game);
    this.statistics = run.can.includes("statistics") && new Statistics(run, this.board);
    this.shaded = localStorage.getItem("shaded") !== "no";
    this.film = new Film(this.game, () => this.#controls());
    this.#build();
  }

  get playing() { return this.tab === "play"; }

  // Opens the configuration that the address names, else the start of its path, else that of the run.
  async open({at, from}) {
    this.from = from ?? (this.target ? at : null);
    const start = this.from ?? this.run.start ?? (await startOf(this.run)).configuration;
    if (this.ways) await this.#aim(this.stopped ? null : at ?? start);
    if (this.target) {
      put(this.aimed, h("figcaption", {class: "muted"}, "Target"),
        still((await new Positions(this.run.run).of(this.target)).picture, this.target));
    }
    this.started = (await this.positions.of(start)).at;
    const last = at === undefined && !this.target ? sessionStorage.getItem(this.#name()) : null;
    await this.#begin(last ?? at ?? start);
  }

  // Goes on with a game that this tab has kept, if it is there now or began there, else begins one.
  async #begin(where, anew = false) {
    const there = step => [step.at, step.configuration, step.spelled].includes(where);
    for (const name of Object.keys(sessionStorage)) {
      if (!name.startsWith(`${this.#name()} `)) continue;
      const kept = new Record(JSON.parse(sessionStorage.getItem(name)));
      if (anew || !there(kept.step)) kept.go(0);
      if (there(kept.step)) return this.game.resume(kept);
    }
    return this.game.open(where);
  }

  #name = () => `game ${this.run.run} ${this.target ?? ""}`;

  // A game that is too long is not kept.
  #keep({record}) {
    try {
      sessionStorage.setItem(this.#name(), record.step.at);
      sessionStorage.setItem(`${this.#name()} ${record.steps[0].at}`, JSON.stringify(record));
    } catch {
      sessionStorage.removeItem(this.#name());
    }
  }

  // A shortest path to the target: the distances of the configurations on it.
  async #aim(from) {
    const {keys, length} = await compute(["runs", this.run.run, "path"], {from, to: this.target ?? "goal"});
    keys.forEach((key, step) => this.ways.set(key, length - step));
    this.length ??= length;
    this.positions.forget();
  }

  // From beside the path, another one.
  async #again(from) {
    await this.#aim(from).then(() => this.game.now.at === from && this.game.to(this.game.place))
      .catch(error => put(this.distance, h("span", {class: "reason"}, error.message)));
  }

  #build() {
    const tools = {
      hint: button("Hint", () => this.hint(), {class: "strong", title: "H"}),
      undo: button("Undo", () => this.game.undo(), {title: "Z"}),
      redo: button("Redo", () => this.game.redo(), {title: "Y"}),
      play: button("", () => (this.film.playing ? this.film.stop() : this.film.start()), {title: "Space"}),
      shuffle: this.run.can.includes("sample") && button("Shuffle", () => this.#shuffle()),
      restart: button("Start again", () => this.#restart(), {}),
      edit: !this.run.handed && this.run.puzzle in GOALS && h("a", {class: "button"}, "Edit the board"),
    };
    Object.assign(this, {tools});
    this.distance = h("p", {class: "distance"});
    this.aside = h("p", {class: "muted"});
    this.done = h("div", {class: "done", role: "status"});
    this.aimed = h("figure", {class: "aimed"});
    this.trace = h("div", {class: "trace answers"});
    this.moves = h("ol", {class: "moves"});
    this.played = h("p", {class: "played"});
    this.wrong = h("p", {class: "reason", role: "alert"});
    const speed = h("select",
      {"aria-label": "Speed of the film", onchange: event => { this.film.pause = SPEEDS[event.target.value]; }},
      Object.keys(SPEEDS).map(name => h("option", {selected: name === "usual"}, name)));
    const shading = h("label", {class: "check answers"}, h("input", {type: "checkbox", checked: this.shaded,
      onchange: event => this.#shading(event.target.checked)}), " shade the best moves");
    this.element = h("section", {class: "play"},
      h("div", {class: "figures"}, this.distance, this.aside, this.done, this.aimed),
      h("div", {class: "stage"}, this.board.svg,
        h("p", {class: "where"}, this.aim = h("span", {}), h("br"), this.text = h("code", {}))),
      this.trace,
      h("div", {class: "panel"},
        h("div", {class: "row reach"}, tools.hint, tools.undo, tools.redo),
        h("div", {class: "row answers"}, tools.play, speed),
        h("div", {class: "row"}, tools.restart, tools.shuffle, shareButton(() => this.#shared()), tools.edit),
        shading, this.wrong,
        h("h2", {}, "Legal moves"), this.moves,
        h("div", {class: "heading"}, h("h2", {}, "Moves played"),
          button("As text", () => this.#text(), {class: "quiet"})),
        this.played),
      this.statistics.element);
  }

  refresh() {
    const {now, past, place} = this.game;
    if (!this.element.isConnected || !now) return;
    this.wrong.textContent = "";
    this.element.classList.toggle("playing", this.playing);
    this.hand.refresh();
    this.#shade();
    this.#figures(now, past, place);
    if (!this.playing && this.statistics) this.statistics.show(now.key);
    this.#list(now);
    this.#line();
    this.#keep(this.game);
    this.#controls();
    this.text.textContent = this.board.spelled(now.configuration);
    this.aim.textContent = this.target ? "" : now.aim ? `Goal: ${now.aim}` : "";
    if (this.tools.edit) {
      this.tools.edit.href = address(["new", "sliding"],
        {goal: GOALS[this.run.puzzle], ...this.run.parameters, start: now.configuration});
    }
    const path = this.target ? {from: this.from, to: this.target} : {};
    note(["runs", this.run.run, this.tab ?? "board"],
      this.target && now.at === this.started ? path : {...path, at: this.board.spelled(now.configuration)});
  }

  // The line of the record around the present step, each move with the others that were tried in its place.
  #line() {
    const {record, place} = this.game;
    const step = (number, words) => button(words + record.steps[number].words, () => this.game.visit(number),
      {key: number, class: words ? "plain muted" : "plain", "aria-current": number === record.here ? "step" : null});
    const line = record.line.slice(Math.max(1, place - SHOWN), place + SHOWN);
    put(this.played, line.map(number => [step(number, ""), record.beside(number).map(other => step(other, "or "))])
      .flat(2));
    if (!line.length) put(this.played, h("span", {class: "muted"}, "none"));
  }

  // The record as a text, to be copied and to be replaced.
  #text() {
    const text = h("textarea", {rows: "12", spellcheck: "false", "aria-label": "Moves, one a line; variations in ( )"});
    text.value = this.game.record.text;
    const play = () => {
      text.closest("dialog").close();
      this.game.read(text.value);
    };
    sheet("Moves played", {class: "asked shared"}, text,
      h("p", {class: "row"}, button("Play these", play, {class: "strong"}),
      button("Copy", () => navigator.clipboard.writeText(text.value).catch(() => text.select()))));
  }

  // The board as it is handed on.
  #shared() {
    const {now} = this.game;
    return {run: this.run, picture: this.board.seen, at: this.board.spelled(now.configuration),
      goal: this.target ? null : now.goal_distance};
  }

  #figures(now, past, place) {
    const away = now.goal_distance;
    const solved = away === 0 || (now.goal === true && !this.target);
    const whither = this.target ? "target" : "goal";
    const big = (value, words) => put(this.distance, h("strong", {class: "big"}, value), words);
    if (solved) big(this.target ? "Arrived" : "Solved", "");
    else if (this.playing) big(number(place), place === 1 ? "move played" : "moves played");
    else if (away === null) this.#unknown(now);
    else big(number(away), `${away === 1 ? "move" : "moves"} to the ${whither}`);
    this.distance.classList.toggle("solved", solved);
    const from = now.depth === null || now.depth === undefined ? null : `${number(now.depth)} from the start`;
    // On a given path only the end is a goal, so no move is a mistake.
    const mistakes = this.ways ? [] : this.game.mistakes;
    const made = mistakes.filter(step => step <= place).length;
    const part = this.run.kind === "census" && now.component !== null ? `component ${now.component}` : null;
    const facts = [from, part, `${number(place)} played`, made && counted(made, "mistake")].filter(Boolean).join(" · ");
    put(this.aside, this.playing ? [rulesOf(this.run.puzzle), " ", this.#hardest(now)] : facts);
    put(this.done, ...(this.playing ? this.#result(solved, past, place) : []));
    put(this.trace, past.length > 1 && past.some(({goal}) => goal !== null) && this.#trace(mistakes));
    const moved = past[place].words;
    const told = solved ? "Solved." : this.playing ? "" : now.lost ? "No way to the goal." : away === null ? ""
      : `${number(away)} to the ${whither}.`;
    say(`${moved ? `${moved}. ` : ""}${mistakes.includes(place) && !this.playing ? "A mistake. " : ""}${told}`);
  }

  // The distance over the moves played: a cross for each mistake, pressed to go to a step.
  #trace(mistakes) {
    const {past, place} = this.game;
    const marks = mistakes.map(step => ({place: step, words: `Mistake, move ${number(step)}: ${past[step].words}`}));
    const words = [`Distance to the goal over ${counted(past.length - 1, "move")} played`,
      ...marks.map(mark => mark.words)].join(". ");
    return line(past.map(step => step.goal), place, words, {marks, press: step => this.game.to(step)});
  }

  // What was played beside the fewest moves, and the best result without hints, which this browser keeps.
  #result(solved, [{at, goal: fewest}], place) {
    const name = `best ${this.run.run} ${at} ${this.target ?? ""}`;
    const before = Number(localStorage.getItem(name)) || Infinity;
    const {hints} = this.game.record;
    if (solved && place && !hints && place < before) localStorage.setItem(name, place);
    const best = Math.min(before, solved && place && !hints ? place : Infinity);
    const kept = best < Infinity && h("p", {class: "muted"}, `Your best: ${counted(best, "move")}`,
      hints > 0 && `; ${counted(hints, "hint")} this time`);
    if (!solved || !place) return [kept];
    return [h("p", {}, h("strong", {}, `Solved in ${counted(place, "move")}. `),
      fewest === null ? "" : place === fewest ? "No way is shorter." : `The fewest are ${number(fewest)}.`), kept,
    h("p", {class: "row"}, button("Play again", () => this.#restart(), {class: "strong"}),
      h("a", {class: "button", href: address(["runs", this.run.run, "board"])}, "Analyse these moves"))];
  }

  // A large run has its goal distances in a run of its own.
  #unknown(now) {
    if (now.lost) return void put(this.distance, h("strong", {}, "No way to the goal"));
    if (this.target) {
      put(this.distance, h("span", {}, "Beside the path "), button("Path from here", () => this.#again(now.at)));
      if (this.run.configurations <= SMALL) this.#again(now.at);
      return;
    }
    if (this.stopped || (this.run.status === "complete" && this.run.exhausted === false)) {
      const why = this.stopped ? "the run stopped at its first goal" : "the run has only its first layers";
      return void put(this.distance, h("span", {}, `Distance to the goal: unknown, as ${why} `),
        h("a", {class: "button",
          href: address(["new", this.run.puzzle], {...this.run.parameters, start: this.run.start})}, "Explore all"));
    }
    const way = this.#hardest(now);
    put(this.distance, h("span", {}, `Distance to the goal: ${way ? "not computed yet" : now.goal_distance_unknown} `),
      way);
  }

  // A link to where the distances of a large run are found, if they are not known yet.
  #hardest = now => isOpen(this.run, now)
    && h("a", {class: "button", href: address(["runs", this.run.run, "hardest"])}, "Compute all distances");

  // In play the order tells nothing.
  #list(now) {
    const best = move => !this.playing && now.best.includes(move);
    const moves = now.moves.map(move => ({move, words: this.board.worded(move.move)}));
    if (this.playing) moves.sort((one, other) => one.words.localeCompare(other.words));
    put(this.moves, moves.map(({move, words}) => h("li", {},
      h("button", {type: "button", class: best(move) ? "move best" : "move", onclick: () => this.game.play(move)},
        h("span", {}, words), !this.playing && h("span", {class: "muted"}, change(now, move, this.ways))))));
    if (!now.moves.length) put(this.moves, h("li", {class: "muted"}, "none: this is a dead end"));
  }

  // Shades the moves that lead nearer to the goal or target, the hinted one alone where a hint was asked for.
  #shade() {
    const {now} = this.game;
    if (this.hinted === now.key) shade(this.board, now.best.slice(0, 1));
    else shade(this.board, this.shaded && !this.playing ? now.best : []);
  }

  #shading(wanted) {
    this.shaded = wanted;
    localStorage.setItem("shaded", wanted ? "yes" : "no");
    this.#shade();
  }

  #controls() {
    const {tools, game, film} = this;
    const none = !game.now?.best.length;
    const sought = none && isOpen(this.run, game.now);
    const step = this.target && !this.playing;
    enable(tools.undo, game.place > 0);
    enable(tools.redo, game.place < game.past.length - 1);
    tools.hint.textContent = step ? "Step" : this.hinted === game.now?.key ? "Take the hint" : "Hint";
    enable(tools.hint, !none || sought);
    tools.hint.title = none && !sought ? "No hint is known here" : "H";
    tools.play.textContent = film.playing ? "❚❚ Pause" : this.target
      ? `▶ Play the path of ${counted(this.length, "move")}` : "▶ Play the solution";
    enable(tools.play, film.playing || !none);
    enable(tools.restart, game.now?.at !== this.started);
  }

  // Shows a best move; asked again, makes it.
  hint() {
    const {now, board} = this.game;
    const [move] = now.best;
    if (!move && isOpen(this.run, now)) return this.#seek(now);
    if (!move || this.hinted === now.key || (this.target && !this.playing)) {
      return move ? this.game.play(move) : Promise.resolve();
    }
    this.game.record.hints += 1;
    this.hinted = now.key;
    this.#shade();
    this.#controls();
    this.aside.textContent = `Hint: ${board.worded(move.move)}`;
    say(this.aside.textContent);
    return Promise.resolve();
  }

  // Where the distances are not known, a hint follows a shortest path from here.
  async #seek(now) {
    this.tools.hint.textContent = "searching …";
    enable(this.tools.hint, false);
    this.ways = this.positions.ways ??= new Map();
    await this.#again(now.at);
    if (this.game.now.best.length) this.hint();
  }

  async #restart() {
    this.film.stop();
    this.hinted = null;
    await this.#begin(this.started, true);
    this.game.record.hints = 0;
  }

  // Opens a random configuration of the run, each as likely as any other.
  async #shuffle() {
    this.film.stop();
    const seed = Math.floor(Math.random() * 2 ** 32);
    await get(["runs", this.run.run, "sample"], {n: 1, seed})
      .then(({configurations: [drawn]}) => this.game.open(drawn)).catch(error => put(this.wrong, error.message));
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, select, textarea, dialog")) {
      return;
    }
    const arrows = {ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0]};
    const actions = {h: () => this.hint(), z: () => this.game.undo(), y: () => this.game.redo()};
    if (event.key in arrows) {
      const [{game}, [x, y]] = [this, arrows[event.key]];
      const along = () => game.past[game.place + x] && game.to(game.place + x);
      const acts = game.tilts ? game.toward([x, y]) : y ? game.aside() : along();
      if (acts) event.preventDefault();
    }
    else if (event.key === " " && !this.playing && event.target.closest("button, a, .piece") === null) {
      event.preventDefault();
      this.tools.play.click();
    } else actions[event.key]?.();
  }
}

// Whether a way to the goal can be found from where none is known yet.
const isOpen = (run, now) => Boolean(now) && run.can.includes("hardest") && now.goal_distance === null && !now.lost;

// The effect of a move on the distance: 1 nearer, same distance, 1 farther. Beside a given path it is not known.
function change(now, {goal_distance: after}, ways) {
  const before = now.goal_distance;
  if (after === null) return !ways && (before !== null || now.lost) ? "no way to the goal" : "";
  if (before === null) return number(after);
  const step = after - before;
  const words = step < 0 ? `${-step} nearer` : step > 0 ? `${step} farther` : "same distance";
  return `${number(after)} · ${words}`;
}
