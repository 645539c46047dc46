// The components of a run: a table to be sorted, and for each the pairs that are farthest apart.

import {button, h, put} from "../lib/dom.js";
import {counted, number} from "../lib/format.js";
import {picture} from "../parts/pictures.js";
import {address, note} from "../router.js";
import {patiently} from "../parts/waiting.js";

const COLUMNS = ["component", "size", "diameter", "radius", "centre", "periphery"];
// Rows of the table, and pairs, that are shown at first.
const [ROWS, PAIRS] = [25, 4];
// As many as the server gives at once.
const MOST = 10000;

export async function show(place, {run, query}, current) {
  const {components} = await patiently(place, ["runs", run.run, "components"], {limit: MOST});
  if (!current()) return;
  const view = new Components(run, components);
  put(place, view.element);
  await view.choose(Number(query.k ?? run.start_component ?? 0));
}

class Components {
  constructor(run, components) {
    Object.assign(this, {run, components, by: "size", down: true, shown: ROWS});
    this.table = h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Components"});
    this.more = h("p", {class: "row"});
    this.one = h("section", {class: "card", "aria-live": "polite"});
    const title = counted(run.components ?? components.length, "component");
    this.element = h("section", {}, this.one,
      h("section", {class: "card"}, h("h2", {}, title), components.length > 2 && sizesOf(components), this.table, this.more));
    this.#draw();
  }

  #sorted() {
    const sign = this.down ? -1 : 1;
    return [...this.components].sort((one, other) => sign * ((one[this.by] ?? -1) - (other[this.by] ?? -1)) || one.component - other.component);
  }

  #draw() {
    const head = COLUMNS.map(name => h("th", {scope: "col", "aria-sort": this.by === name ? (this.down ? "descending" : "ascending") : null},
      button(name + (this.by === name ? (this.down ? " ↓" : " ↑") : ""), () => this.#sort(name), {class: "plain"})));
    const rows = this.#sorted().slice(0, this.shown).map(row => h("tr", {class: row.component === this.chosen ? "chosen" : null},
      COLUMNS.map((name, place) => (place ? h("td", {}, number(row[name])) : h("th", {scope: "row"}, button(number(row[name]), () => this.choose(row.component), {class: "plain link"}))))));
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
    const below = h("div", {});
    const directed = this.components.find(row => row.component === component)?.diameter === null;
    if (directed) {
      put(this.one, h("h2", {}, "Moves cannot be taken back"), h("p", {class: "muted"}, "So these components, joined by moves whichever way they lead, have no distances."));
      return;
    }
    put(this.one, h("h2", {}, `Component ${number(component)}`), below);
    try {
      const found = await patiently(below, ["runs", this.run.run, "components", String(component), "diameter"]);
      if (this.chosen === component) put(this.one, ...this.#told(found, PAIRS));
    } catch (error) {
      put(below, h("p", {class: "reason"}, error.message));
    }
  }

  #told(found, shown) {
    const facts = [["diameter", found.diameter], ["radius", found.radius], ["configurations", found.size], ["in the centre", found.centre], ["in the periphery", found.periphery], ["diametral pairs", found.pair_count]];
    const pairs = h("div", {class: "pairs"}, found.pairs.slice(0, shown).map(pair => this.#pair(pair, found.diameter)));
    const left = found.pairs.length - shown;
    return [
      h("h2", {}, `Component ${number(found.component)}`),
      h("dl", {class: "facts"}, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, number(value))))),
      h("h3", {}, found.diameter ? `The farthest apart: ${counted(found.diameter, "move")}` : "A configuration alone"),
      pairs,
      left > 0 && button(counted(left, "more pair", "more pairs"), () => put(this.one, ...this.#told(found, found.pairs.length))),
    ];
  }

  #pair([from, to], diameter) {
    const board = configuration => {
      const link = h("a", {href: address(["runs", this.run.run, "board"], {at: configuration}), "aria-label": `Play ${configuration}`});
      picture(this.run, configuration).then(found => put(link, found)).catch(error => put(link, error.message));
      return link;
    };
    return h("figure", {class: "pair"}, h("div", {class: "two"}, board(from), board(to)),
      h("figcaption", {}, h("a", {class: "button", href: address(["runs", this.run.run, "board"], {from, to})}, `Walk the ${counted(diameter, "move")}`)));
  }
}

// How many components there are of each size, the largest sizes last.
function sizesOf(components) {
  const counts = new Map();
  for (const {size} of components) counts.set(size, (counts.get(size) ?? 0) + 1);
  const sizes = [...counts.keys()].sort((one, other) => one - other);
  return h("p", {class: "muted"}, `${number(sizes.length)} sizes; `,
    sizes.slice(-3).reverse().map(size => `${number(counts.get(size))} of ${number(size)}`).join(", "), sizes.length > 3 && " and smaller ones");
}
