// The figures of a run and the histogram of its layers, updated while it is running.

import {follow, get, health} from "../lib/api.js";
import {address, bytes, counted, duration, go, h, left, number, put, short, when} from "../lib/dom.js";
import {Histogram} from "../charts/histogram.js";
import {factsOf, scaleSwitch} from "../parts/fields.js";
import {barOf, moving} from "../parts/life.js";
import {exportsOf} from "../parts/share.js";
import {expandersOf, keptOf, summaryOf, tablesOf} from "../parts/tables.js";

const LAYERED = new Set(["explore", "hardest"]);
// The least milliseconds between two updates of the tables.
const PAUSE = 1000;

export async function show(place, {run, redraw}, current) {
  const view = new Overview(run, redraw);
  put(place, view.element);
  await view.load();
  if (!current()) return null;
  return view.follow();
}

class Overview {
  constructor(run, redraw) {
    Object.assign(this, {run, redraw, layers: [], by: [], rows: [], drawing: false, told: 0});
    [this.heads, this.body] = [h("tr", {}), h("tbody", {})];
    this.figures = h("div", {});
    this.progress = h("div", {class: "progress", role: "status", "aria-live": "off"});
    this.histogram = new Histogram(run.kind === "hardest"
      ? {bar: "distance", of: "configurations", title: "Configurations at each distance from the goal"}
      : {bar: "layer", of: "configurations", title: "Configurations in each layer", open: depth =>
        this.run.can.includes("layer") && go(["runs", run.run, "layer"], {n: String(depth)})});
    this.chart = h("section", {class: "card", hidden: true},
      h("div", {class: "heading"}, h("h2", {}, run.kind === "hardest" ? "Distances from the goal" : "Layers"),
        scaleSwitch(wanted => this.histogram.scale(wanted))),
      this.histogram.element, this.table = h("details", {}, h("summary", {}, "Table"),
        h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Layers"},
          h("table", {}, h("thead", {}, this.heads), this.body))));
    [this.kept, this.tables, this.files] = [h("div", {}), h("div", {}), h("div", {})];
    this.element = h("section", {}, h("section", {class: "card"}, this.progress, this.figures), this.chart,
      h("div", {class: "sizes"}), this.kept, this.tables, this.files);
    this.table.addEventListener("toggle", () => this.#layerTable());
  }

  async load() {
    this.#figures();
    if (moving(this.run) || this.run.keepers.length) await this.#helpers();
    if (LAYERED.has(this.run.kind)) {
      const {layers} = await get(["runs", this.run.run, "layers"]);
      for (const layer of layers) this.#add(layer);
      this.#plot();
    }
    if (this.run.kind === "census" && this.run.status === "complete") await this.#sizes();
    await this.#tables();
    put(this.files, this.run.status === "complete" && exportsOf(this.run));
  }

  // The sizes of the components of a whole space.
  async #sizes() {
    const {components} = await get(["runs", this.run.run, "components"], {limit: 10000});
    const sizes = components.map(({size}) => size).sort((one, other) => other - one);
    const chart = new Histogram({bar: "component by size", bars: "components", of: "configurations",
      title: "Components, the largest first"});
    chart.scale(true);
    if (sizes.length > 1) {
      put(this.tables.parentElement.querySelector(".sizes"),
        h("section", {class: "card"}, h("h2", {}, "Sizes of the components"), chart.show(sizes).element));
    }
  }

  // Updates figures and bars until the run is complete, also after a resume elsewhere; returns a function that ends
  // this.
  follow() {
    if (this.run.status === "complete") return () => {};
    const stop = follow(this.run.run, {
      open: () => this.#helpers(),
      progress: found => this.#heard(found),
      layer: layer => { this.#add(layer); this.#plot(); },
      state: found => this.#state(found, () => stop()),
    }, error => this.#lost(error));
    return stop;
  }

  async #state(found, stop) {
    this.#heard(found);
    if (found.status === "complete") {
      stop();
      this.run = await get(["runs", this.run.run]);
      await this.load();
    }
  }

  #lost(error) {
    const gone = "The server does not answer. This page continues when it does.";
    this.run.missing = error && !error.gone ? error.message : gone;
    this.#figures();
  }

  #heard(found) {
    // The size on disk as of the load of the page is outdated.
    Object.assign(this.run, {stored_bytes: null}, found, {can: this.run.can});
    this.#figures();
    // A run that is cancelled and resumed between two looks of the server has no event of its state.
    this.redraw(this.run).catch(() => {});
    if (performance.now() - this.told < PAUSE) return;
    this.told = performance.now();
    this.#tables().catch(() => {});
    this.#helpers();
  }

  async #tables() {
    const summary = await summaryOf(this.run);
    const text = JSON.stringify(summary);
    if (text !== this.summed) put(this.tables, tablesOf(this.run, summary));
    this.summed = text;
  }

  // The workers and hosts; without any, threads of the coordinator do the work.
  async #helpers() {
    const found = await health().catch(() => null);
    if (found) Object.assign(this.run, {hosts: found.hosts, living: found.keepers, missing: found.reason});
    this.#figures();
  }

  // Draws at most once per frame.
  #plot() {
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      this.chart.hidden = this.layers.length < 2;
      this.histogram.show(Array.from(this.layers, size => size ?? 0), this.run.goal_depth || null);
      this.#layerTable();
    });
  }

  #add({depth, size, expanded_by: by}) {
    this.layers[depth] = size;
    this.by[depth] = by.map(({name, chunks}) => `${name ?? "threads"}: ${counted(chunks, "chunk")}`).join(", ");
  }

  #layerTable() {
    if (!this.table.open) return;
    const told = this.by.some(Boolean);
    put(this.heads, h("th", {key: "layer", scope: "col"}, "layer"),
      h("th", {key: "size", scope: "col"}, "configurations"),
      told && h("th", {key: "by", scope: "col", class: "text"}, "made by"));
    put(this.body, this.layers.map((size, depth) => this.#row(depth, size, told ? this.by[depth] || "here" : "")));
  }

  // The row of a layer: the one that is there, unless it has changed.
  #row(depth, size, by) {
    const asked = this.run.kind === "explore" && this.run.can.includes("layer");
    const key = `${depth} ${size} ${by} ${asked}`;
    if (this.rows[depth]?.key === key) return this.rows[depth];
    const link = asked && h("a", {href: address(["runs", this.run.run, "layer"], {n: String(depth)})}, number(depth));
    return this.rows[depth] = h("tr", {key}, h("td", {}, link || number(depth)), h("td", {}, number(size)),
      by && h("td", {class: "text"}, by));
  }

  #figures() {
    const {run} = this;
    const rest = left(run.seconds_left);
    const {done, total} = run.progress;
    const words = [total && `${Math.floor(100 * done / total)} %`, run.progress.headline, rest && `${rest} left`];
    put(this.progress, moving(run) && [barOf(run), h("p", {key: "rest"}, words.filter(Boolean).join(" · ")),
      run.missing && h("p", {class: "reason"}, run.missing)]);
    put(this.figures, factsOf(figuresOf(run).filter(([, value]) => value !== null && value !== "–")));
    put(this.kept, expandersOf(run), keptOf(run));
  }
}

const some = value => (value === null || value === undefined ? null : number(value));

function figuresOf(run) {
  const disk = run.stored_bytes || run.progress.disk;
  return [
    [run.progress.unit, number(run.progress.done)],
    ["layers", LAYERED.has(run.kind) && run.depth !== null ? number(run.depth + 1) : null],
    ["nearest goal", run.goal_depth === null || run.goal_depth === undefined ? null : counted(run.goal_depth, "move")],
    ["goals", some(run.goals)],
    ["components", some(run.components)], ["moves between them", some(run.edges)], ["solutions", some(run.solutions)],
    ["best score", some(run.score ?? run.best_score)], ["in moves", some(run.moves)], ["rounds", some(run.rounds)],
    ["compiling", run.compiling ? duration(run.compiling) : null],
    ["computing", run.seconds ? duration(run.seconds) : null],
    ["rate", run.rate ? `${short(run.rate)}${run.rate_unit === "configurations/s" ? "/s" : ` ${run.rate_unit}`}`
      : null],
    ["on disk", disk ? bytes(disk) : null],
    ["bytes per configuration", disk && run.configurations ? (disk / run.configurations).toFixed(2) : null],
    ["workers", run.hosts?.length ? run.hosts.map(({host, workers}) => `${number(workers)} on ${host}`)
      .join(", ") : null],
    ["priority", run.priority || null],
    ["created", run.created ? when(run.created) : null], ["run", h("code", {}, run.run)],
    ["driven by", run.holder ? h("small", {}, run.holder) : null, true],
    ["digest", run.digest ? h("code", {}, run.digest) : null, true],
  ];
}
