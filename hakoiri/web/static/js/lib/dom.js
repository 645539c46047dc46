// Elements from plain calls: h("a", {href: "#/"}, "Runs"). What is null or false is left out. Numbers and words for
// people, and addresses.

const SVG = "http://www.w3.org/2000/svg";
const there = value => value !== null && value !== undefined && value !== false;
const nodesOf = children => children.flat().filter(there)
  .map(child => (child instanceof Node ? child : new Text(child)));

// A `key` is what `put` knows an element by.
function fill(element, {key = undefined, ...properties}, children) {
  Object.assign(element, {key, acts: {}});
  for (const [name, value] of Object.entries(properties)) {
    if (!there(value)) continue;
    if (name.startsWith("on")) element[name] = element.acts[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...nodesOf(children));
  return element;
}

export const h = (tag, properties = {}, ...children) => fill(document.createElement(tag), properties, children);
export const s = (tag, properties = {}, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

const FIRST = "button:not(:disabled), a:not([tabindex])";

// Gives an element its content. A child that has the key and tag of an old one becomes that: only what differs changes,
// so that selected text and the focus stay; below it, children without keys match by their order. A focused element
// that is gone leaves the focus to the first button or link near it.
export function put(element, ...children) {
  const held = [];
  for (let at = document.activeElement; at && element.contains(at); at = at.parentElement) held.push(at);
  fit(element, nodesOf(children), false);
  const near = held.find(at => at === element || element.contains(at));
  if (near && near !== held[0]) {
    const next = near.querySelector(FIRST) ?? element.querySelector(FIRST) ?? document.getElementById("main");
    next?.focus({preventScroll: true});
  }
  return element;
}

function fit(element, wanted, all) {
  const stay = new Set(wanted);
  const free = [...element.childNodes].filter(node => !stay.has(node));
  const found = wanted.map(node => {
    if (node.parentNode === element || !(all || node.key !== undefined || node instanceof Text)) return node;
    const place = free.findIndex(old => old.nodeName === node.nodeName && old.key === node.key);
    return place < 0 ? node : patched(free.splice(place, 1)[0], node);
  });
  for (const node of free) node.remove();
  found.forEach((node, place) => {
    if (element.childNodes[place] !== node) element.insertBefore(node, element.childNodes[place] ?? null);
  });
}

function patched(old, fresh) {
  if (old instanceof Text) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return old;
  }
  for (const {name} of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const {name, value} of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const name in old.acts) old[name] = null;
  Object.assign(old, fresh.acts, {acts: fresh.acts});
  fit(old, [...fresh.childNodes], true);
  return old;
}

export const button = (words, onclick, properties) => h("button", {type: "button", onclick, ...properties}, words);

function opened(properties, ...children) {
  const dialog = h("dialog", {class: "asked", ...properties}, ...children);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

// A dialog with a title and a button that closes it.
export function sheet(words, properties, ...children) {
  const dialog = opened({"aria-labelledby": "sheet", ...properties}, h("h2", {id: "sheet"}, words), ...children.flat(),
    h("div", {class: "row end"}, button("Close", () => dialog.close())));
}

// A confirmation before something is done that is hard to undo: a promise of true or false.
export const sure = (question, verb, not = "Keep") => new Promise(resolve => {
  const dialog = opened({"aria-labelledby": "asked", onclose: () => resolve(dialog.returnValue === "yes")},
    h("p", {id: "asked"}, question),
    h("div", {class: "row end"}, button(not, () => dialog.close("no"), {class: "quiet"}),
      button(verb, () => dialog.close("yes"), {class: "danger"})));
});

// Saves a file.
export function save(file, name) {
  const link = h("a", {href: URL.createObjectURL(file), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href));
}

// Enables or disables a button; the focus of one that is disabled goes to one beside it.
export function enable(which, wanted) {
  const held = which === document.activeElement;
  which.disabled = !wanted;
  if (held && !wanted) {
    (which.parentElement.querySelector("button:not(:disabled)") ?? document.getElementById("main")).focus();
  }
}

// Announces words to screen readers.
export const say = words => { document.getElementById("said").textContent = words; };

const GROUPED = new Intl.NumberFormat("en-US");
export const number = value => (value === null || value === undefined ? "–" : GROUPED.format(value));

/** 25.9 k, 240 M: for where there is little room. @param {number} value */
export function short(value) {
  for (const [unit, size] of Object.entries({T: 1e12, G: 1e9, M: 1e6, k: 1e3})) {
    if (value >= size) return `${Number((value / size).toPrecision(3))} ${unit}`;
  }
  return String(Math.round(value));
}

export const bytes = value =>
  (value === null || value === undefined ? "–" : `${short(value)}B`.replace(/(\d)B/, "$1 B"));

/** 59,000 years, 12 days, 1 h 5 min, 2.5 s. @param {number | null | undefined} seconds */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  for (const [unit, size] of Object.entries({years: 31557600, days: 86400})) {
    if (seconds >= 10 * size) return `about ${number(Number((seconds / size).toPrecision(2)))} ${unit}`;
  }
  const [whole, minutes] = [Math.round(seconds), Math.round(seconds / 60)];
  if (whole < 60) return `${seconds.toFixed(1)} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Bounds on the seconds left, as the server gives them. @param {[number, number] | null | undefined} bounds */
export function left(bounds) {
  if (!bounds) return null;
  const [least, most] = bounds;
  return most - least < 1 ? duration(most) : `${duration(least)} to ${duration(most)}`;
}

export const counted = (count, one, many = `${one}s`) =>
  `${typeof count === "string" ? count : number(count)} ${count === 1 ? one : many}`;
export const when = text =>
  new Date(text.replace(" ", "T")).toLocaleString("en-GB", {dateStyle: "medium", timeStyle: "short"});

function unescaped(words) {
  try {
    return words.map(decodeURIComponent);
  } catch {
    return [null];
  }
}

/**
 * {path: ["runs", "NAME", "board"], query: {at: "CONF"}}; the path is [null] if it is malformed.
 * @param {string} hash @returns {{path: string[], query: Object<string, string>}}
 */
export function parsed(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  return {
    path: unescaped(path.split("/").filter(Boolean)),
    query: Object.fromEntries(new URLSearchParams(query.replaceAll("+", "%2B"))),
  };
}

export function address(path, query = {}) {
  const asked = Object.entries(query)
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}=${encodeURIComponent(value).replace(/%(2F|40|2C)/g, decodeURIComponent)}`)
    .join("&");
  return `#/${path.map(encodeURIComponent).join("/")}${asked ? `?${asked}` : ""}`;
}

// The address changes, the page stays: for what a page shows already. A page or view that was left notes nothing.
export function note(path, query) {
  const here = parsed(location.hash).path;
  if (here[0] === path[0] && (path[0] !== "runs" || here[2] === path[2])) {
    history.replaceState(null, "", address(path, query));
  }
}

export const go = (path, query) => {
  location.hash = address(path, query);
};
