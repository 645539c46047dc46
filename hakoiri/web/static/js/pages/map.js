// The map of a component: its state graph in space, coloured by distances, with the path to the chosen configuration.

import {address, button, counted, go, h, note, number, put, say} from "../lib/dom.js";
import {Camera} from "../map/camera.js";
import {Hands} from "../map/hands.js";
import {keyOf, pointsOf, read, Ways} from "../map/read.js";
import {Flat} from "../map/flat.js";
import {Scene} from "../map/scene.js";
import {boundsOf, coloursOf, errorOf, legendOf, namesOf, partOf, shares, summaryOf, titleOf,
  worded} from "../map/words.js";
import {choice, factsOf} from "../parts/fields.js";
import {patiently} from "../parts/life.js";
import {still} from "../picture/shapes.js";
import {Positions} from "../play/positions.js";

// The most goals marked.
const MOST_GOALS = 300;

export async function show(place, {run, query}, current) {
  const asked = {component: query.k, dim: query.dim};
  const map = read(await patiently(place, ["runs", run.run, "map"], asked, "arrayBuffer"));
  if (!current()) return null;
  const view = new View(run, map, query);
  put(place, view.element);
  await view.open(query);
  return () => view.end();
}

class View {
  constructor(run, map, query) {
    Object.assign(this, {run, map, query, from: 0, chosen: 0, positions: new Positions(run.run), ways: new Ways(map)});
    this.names = namesOf(map);
    this.goals = [...map.columns.goal_distance ?? []].flatMap((distance, goal) =>
      (distance === 0 ? [goal] : [])).slice(0, MOST_GOALS);
    this.by = query.by in map.columns ? query.by : "depth";
    this.canvas = h("canvas",
      {class: "map", tabindex: "0", role: "application", "aria-label": summaryOf(map), "aria-describedby": "map-help"});
    this.camera = new Camera(map.places);
    const shown = [this.canvas, map, this.camera, () => coloursOf(this.canvas)];
    this.scene = Scene.on(...shown) ?? new Flat(...shown);
    this.repaint = () => this.scene.ask();
    this.hands = new Hands(this.canvas, this.camera, (x, y, twice) => this.#tap(x, y, twice), this.repaint);
    this.legend = h("figure", {class: "legend"});
    this.hover = h("span", {class: "muted hover"});
    this.canvas.addEventListener("pointermove", event => this.#over(event));
    this.card = h("section", {class: "card chosen", "aria-label": "The chosen configuration"});
    this.element = h("section", {class: "mapped"}, this.#stage(), this.card);
  }

  async open({at, from}) {
    this.scene.watch();
    this.camera.reset();
    this.#paint();
    this.from = from && this.map.whole ? await this.#pointOf(from) : 0;
    await this.choose(at ? await this.#pointOf(at) : this.places.goal || this.places.farthest);
  }

  end = () => { this.scene.end(); };

  #stage() {
    const {map, camera} = this;
    const turn = (words, label, act) =>
      button(words, () => { act(); this.repaint(); }, {"aria-label": label, title: label});
    const step = Math.PI / 12;
    return h("div", {class: "view"},
      this.#choices(),
      !map.whole && h("p", {class: "partial"}, partOf(map)),
      this.canvas,
      this.legend,
      h("div", {class: "row tools"},
        turn("←", "Turn to the left", () => camera.turn(-step, 0)),
        turn("→", "Turn to the right", () => camera.turn(step, 0)),
        turn("↑", "Turn upwards", () => camera.turn(0, -step)), turn("↓", "Turn downwards", () => camera.turn(0, step)),
        turn("+", "Zoom in", () => camera.zoom(1.4)), turn("−", "Zoom out", () => camera.zoom(1 / 1.4)),
        turn("All", "Show the whole map", () => camera.reset()),
        document.fullscreenEnabled && button("Full screen",
          () => (document.fullscreenElement ? document.exitFullscreen() : this.element.requestFullscreen()))),
      h("p", {class: "muted small", id: "map-help"},
        "Drag, or press the arrow keys, to turn the map. Pinch, scroll, or press + and − to zoom. ",
        "Tap a point to see its board; tap twice to go there."),
      h("p", {class: "muted small"}, summaryOf(map), " ", errorOf(map)));
  }

  // The choices of component, dimensions and colours.
  #choices() {
    const {map, run} = this;
    const count = run.components ?? 1;
    const component = h("input", {type: "number", min: 0, max: count - 1, value: map.component, id: "map-component",
      onchange: () => component.checkValidity() && this.#leave({k: component.value})});
    const flat = choice("Axes", [[3, "3D"], [2, "2D"]], map.axes, axes => this.#leave({dim: axes === 2 ? "2" : null}));
    const by = choice("Coloured by", Object.keys(map.columns).map(name => [name, this.names[name]]), this.by, name => {
      this.by = name;
      this.#paint();
      this.#note();
    });
    return h("div", {class: "row choices"}, by, flat,
      count > 1 && h("label", {for: "map-component"}, "Component ", component,
        h("span", {class: "muted"}, ` of ${number(count)}`)));
  }

  // Goes to another map.
  #leave = query => { go(...this.#address(query)); };
  #note = () => { note(...this.#address({from: this.began, at: this.at})); };
  #address = query => [["runs", this.run.run, "map"], {k: this.query.k, dim: this.query.dim, by: this.by, ...query}];

  #paint() {
    const distances = this.map.columns[this.by];
    const bounds = boundsOf(distances);
    this.scene.colour(shares(distances, bounds));
    put(this.legend, ...legendOf(bounds, titleOf(this.map, this.by), distances.includes(-1)),
      this.goals.length > 0 && h("span", {class: "goals"}, "goals"), this.hover);
  }

  // The distances of the point below the pointer.
  #over({offsetX, offsetY, buttons}) {
    if (buttons || this.hovering) return;
    this.hovering = requestAnimationFrame(() => {
      this.hovering = null;
      const point = this.scene.at(offsetX, offsetY);
      this.hover.textContent = point < 0 ? "" : this.#distances(point);
    });
  }

  #distances = point => Object.entries(this.map.columns)
    .map(([name, values]) => worded(this.map, name, values[point])).join(", ");

  // Points that have a name.
  get places() {
    const {depth, goal_distance: goal, eccentricity} = this.map.columns;
    const least = values => values.reduce((best, value, point) =>
      (value >= 0 && value < values[best] ? point : best), 0);
    const goals = goal && goal.indexOf(0);
    return {start: 0, goal: goals >= 0 ? goals : undefined, farthest: depth.indexOf(this.map.depth),
      centre: eccentricity && least(eccentricity)};
  }

  async #pointOf(configuration) {
    this.known ??= pointsOf(this.map);
    const {key} = await this.positions.of(configuration);
    return this.known.get(key) ?? 0;
  }

  async #tap(x, y, twice) {
    const point = this.scene.at(x, y);
    if (point < 0) return;
    if (twice) {
      this.camera.visit(this.map.places.subarray(3 * point, 3 * point + 3));
      this.repaint();
    }
    await this.choose(point);
  }

  async choose(point) {
    this.chosen = point;
    this.way = this.ways.path(this.from, point);
    const marks = [...this.goals.map(goal => ({point: goal, colour: "goal", hole: 0.6})),
      {point: this.from, colour: "way", hole: 0}, {point, colour: "chosen", hole: 0.45}];
    this.scene.show(this.way ?? [], marks);
    try {
      const position = await this.positions.of(keyOf(this.map, point));
      if (this.chosen !== point) return;
      this.#told(point, position);
    } catch (error) {
      put(this.card, h("p", {class: "reason", role: "alert"}, error.message));
    }
  }

  #told(point, position) {
    const {map, run, names} = this;
    const {configuration} = position;
    this.at = configuration;
    const facts = Object.entries(map.columns)
      .map(([name, values]) => [names[name], values[point] < 0 ? null : values[point]]);
    const focused = this.card.contains(document.activeElement);
    const begin = this.from ? "the marked point" : map.start ? "the start" : "the least key";
    const way = this.way ? `Path from ${begin}: ${counted(this.way.length - 1, "move")}` : `No path from ${begin}`;
    put(this.card,
      h("a", {class: "board", href: address(["runs", run.run, "board"], {at: configuration}),
        "aria-label": `Play ${configuration}`}, still(position.picture, configuration)),
      h("p", {class: "where"}, h("code", {}, configuration)),
      factsOf(facts.map(([name, value]) => [name, number(value)])),
      h("p", {class: "muted"}, way),
      h("div", {class: "row"},
        h("a", {class: "button strong", href: address(["runs", run.run, "board"], {at: configuration})},
          "Play from here"),
        map.whole && this.from !== point && button("Path from here", () => this.#begin(point)),
        this.from !== 0 && button(map.start ? "Path from the start" : "Path from the least key", () => this.#begin(0))),
      h("h2", {}, "Go to"),
      h("div", {class: "row"}, this.#named()),
      h("h2", {}, "Moves"),
      h("ol", {class: "moves"},
        position.moves.length ? position.moves.map(move => this.#move(move)) : h("li", {class: "muted"}, "none")));
    if (focused) this.card.querySelector(".moves button:not(:disabled)")?.focus();
    say(`${configuration}: ${this.#distances(point)}.`);
    this.#note();
  }

  // The path leads from there to the chosen point.
  #begin(point) {
    this.from = point;
    this.began = point ? this.at : null;
    this.choose(this.chosen);
  }

  #named() {
    const words = {start: this.map.start ? "Start" : "Least key", goal: "Nearest goal", farthest: "Farthest",
      centre: "Centre"};
    return Object.entries(this.places).filter(([, point]) => point !== undefined)
      .map(([name, point]) => button(words[name], () => this.choose(point), {disabled: point === this.chosen}));
  }

  // Moves to configurations outside the map are disabled.
  #move({move, key}) {
    this.known ??= pointsOf(this.map);
    const point = this.known.get(key);
    const distance = point === undefined ? null : this.map.columns[this.by][point];
    return h("li", {}, h("button",
      {type: "button", class: "move", disabled: point === undefined, onclick: () => this.choose(point)},
      h("span", {}, move), h("span", {class: "muted"},
        distance === null ? "not shown" : worded(this.map, this.by, distance))));
  }
}
