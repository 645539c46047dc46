// The components of a run: a sortable table, and the distances of the chosen one. Directed runs show strong components.

import {post} from "../lib/api.js";
import {button, counted, go, h, note, number, put} from "../lib/dom.js";
import {distancesOf} from "../parts/distances.js";
import {patiently} from "../parts/life.js";
import {strongOf} from "../parts/strong.js";

const COLUMNS = ["component", "size", "diameter", "radius", "centre", "periphery"];
// Rows of the table shown at first.
const ROWS = 25;
// The most that the server returns at once.
const MOST = 10000;

export async function show(place, {run, query}, current) {
  const {components, directed} = await patiently(place, ["runs", run.run, "components"], {limit: MOST});
  if (!current()) return;
  if (directed) {
    const strong = h("div", {});
    put(place, strong, components.length > 1 && tableOfSizes(components));
    await strongOf(strong, run);
    return;
  }
  const view = new Components(run, components);
  put(place, view.element);
  const chosen = Number(query.k ?? run.start_component ?? 0);
  if (!(Number.isInteger(chosen) && chosen >= 0)) {
    throw Object.assign(new Error(`run ${run.run} has no component '${query.k}'`), {status: 404});
  }
  await view.choose(chosen);
}

// The sizes of the weak components.
const tableOfSizes = components =>
  h("section", {class: "card"}, h("h2", {}, counted(components.length, "weak component")), sizesOf(components));

class Components {
  constructor(run, components) {
    Object.assign(this, {run, components, by: "size", down: true, shown: ROWS});
    this.table = h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Components"});
    this.more = h("p", {class: "row"});
    this.wrong = h("p", {class: "reason", role: "alert"});
    this.one = h("section", {class: "card", "aria-live": "polite"});
    const title = counted(run.components ?? components.length, "component");
    this.element = h("section", {}, this.one,
      h("section", {class: "card"}, h("h2", {}, title), components.length > 2 && sizesOf(components), this.#open(),
        this.table, this.more));
    this.#draw();
  }

  // If the run measured only some components, offers a run that measures all.
  #open() {
    const open = this.components.filter(({diameter}) => diameter === null).length;
    if (!open || this.run.kind !== "census") return null;
    const {puzzle, parameters, start} = this.run;
    const wanted = {puzzle, options: parameters, kind: "census", ...(start ? {start} : {})};
    const begin = () => post(["runs"], wanted)
      .then(({run}) => go(["runs", run]), error => put(this.wrong, error.message));
    return h("p", {class: "row"}, `${counted(open, "component")} not measured.`,
      button("Compute all diameters", begin), this.wrong);
  }

  #sorted() {
    const sign = this.down ? -1 : 1;
    return [...this.components].sort((one, other) =>
      sign * ((one[this.by] ?? -1) - (other[this.by] ?? -1)) || one.component - other.component);
  }

  #draw() {
    const head = COLUMNS.map(name =>
      h("th", {scope: "col", "aria-sort": this.by === name ? (this.down ? "descending" : "ascending") : null},
      button(name + (this.by === name ? (this.down ? " ↓" : " ↑") : ""), () => this.#sort(name), {class: "plain"})));
    const rows = this.#sorted().slice(0, this.shown)
      .map(row => h("tr", {class: row.component === this.chosen ? "chosen" : null},
      COLUMNS.map((name, place) => (place ? h("td", {}, number(row[name])) : h("th", {scope: "row"},
        button(number(row[name]), () => this.choose(row.component), {class: "plain link"}))))));
    put(this.table, h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)));
    const left = this.components.length - this.shown;
    put(this.more, left > 0 && button(`${number(left)} more`, () => { this.shown += 200; this.#draw(); }));
  }

  #sort(name) {
    this.down = this.by === name ? !this.down : name !== "component";
    this.by = name;
    this.#draw();
  }

  async choose(component) {
    this.chosen = component;
    note(["runs", this.run.run, "components"], {k: String(component)});
    this.#draw();
    const row = this.components.find(found => found.component === component) ?? {component};
    await distancesOf(this.one, this.run, row, () => this.chosen === component);
  }
}

// How many components there are of each size, the largest sizes last.
function sizesOf(components) {
  const counts = new Map();
  for (const {size} of components) counts.set(size, (counts.get(size) ?? 0) + 1);
  const sizes = [...counts.keys()].sort((one, other) => one - other);
  return h("p", {class: "muted"}, `${number(sizes.length)} sizes; `,
    sizes.slice(-3).reverse().map(size => `${number(counts.get(size))} of ${number(size)}`).join(", "),
    sizes.length > 3 && " and smaller ones");
}
