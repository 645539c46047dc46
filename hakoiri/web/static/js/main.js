// Shows the page of the address. A page is a function of its element and the address; it returns a function that ends
// it.

import {part, post} from "./lib/api.js";
import {button, h, parsed, put, sheet} from "./lib/dom.js";

// The first words of an address -> the module of its page, fetched when it is asked for.
const PAGES = {
  "": () => import("./pages/runs.js"),
  browse: () => import("./pages/browse.js"),
  new: () => import("./pages/new.js"),
  runs: () => import("./pages/run.js"),
  glossary: () => import("./pages/glossary.js"),
};

// The sheet of keys, which "?" opens.
const KEYS = [["Tab", "to the next piece, move or field"],
  ["Arrows", "move the chosen piece, choose a cell, turn the map"], ["H", "a hint; again: makes the move"],
  ["Z, Y, ←, →", "undo, redo"], ["↑", "another move that was tried here"],
  ["Space", "plays the solution; in the editor, takes and lets go"], ["Ctrl+Z, Ctrl+Y", "undo, redo in the editor"],
  ["Alt and drag", "draws a piece cell by cell"], ["Escape", "gives up what is held"],
  ["+, −, 0", "the map nearer, farther, whole"], ["?", "this sheet"]];

// The titles of refusals.
const TITLES = {404: "Not found", 422: "That cannot be asked"};

const main = document.getElementById("main");
let end = () => {};
let turn = 0;

// Each page has an element of its own: a page that arrives after the reader has gone on draws into a detached one.
async function show() {
  const mine = ++turn;
  const where = parsed(location.hash);
  const place = h("div", {});
  end();
  end = () => {};
  put(main, place);
  put(place, h("div", {class: "skeleton", "aria-hidden": "true"}));
  try {
    const malformed = where.path[0] === null;
    const page = PAGES[where.path.length === 1 && where.path[0] === "runs" ? "" : where.path[0] ?? ""];
    const wrong = malformed ? {title: "Malformed address"} : {status: 404};
    if (malformed || !page) throw Object.assign(new Error(`there is no page ${location.hash}`), wrong);
    const {show: draw} = await part(page);
    const ended = (await draw(place, where, () => mine === turn)) ?? (() => {});
    if (mine === turn) end = ended;
    else ended();
  } catch (error) {
    const title = TITLES[error.status] ?? error.title ?? (error.gone ? "No connection" : "That did not work");
    refuse(place, title, error, where.path[0] === null ? null : error.title ? () => location.reload() : show);
  }
  if (mine === turn) arrive();
}

function refuse(place, what, error, again) {
  put(place, h("section", {class: "card", role: "alert"}, h("h1", {}, what), h("p", {}, error.message),
    h("p", {class: "row"}, again && button(error.title ? "Reload" : "Try again", again, {class: "strong"}),
      h("a", {class: "button", href: "#/"}, "Home"), h("a", {class: "button", href: "#/runs"}, "All runs"))));
}

// Sets the title, which screen readers announce, and marks the current link of the main navigation.
function arrive() {
  const heading = main.querySelector("h1");
  document.title = heading ? `${heading.textContent} – Hakoiri` : "Hakoiri";
  const here = parsed(location.hash).path[0] ?? "";
  for (const link of document.querySelectorAll("header nav a")) {
    if (here === (parsed(link.hash).path[0] ?? "")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

addEventListener("hashchange", () => {
  if (location.hash === "#main") return;
  document.querySelector("dialog")?.close();
  const shown = show();
  const held = document.activeElement;
  shown.then(() => {
    // A reader who has gone on to a link or a field before the page was complete stays there.
    if (document.activeElement !== held) return;
    main.focus({preventScroll: true});
    scrollTo(0, 0);
  });
});
document.querySelector(".skip").addEventListener("click", event => {
  event.preventDefault();
  main.focus();
});

addEventListener("keydown", event => {
  if (event.key === "?" && !event.target.closest("input, select, textarea, dialog")) {
    sheet("Keys", {}, h("dl", {class: "keys"},
      KEYS.map(([key, does]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, does)]).flat()));
  }
});

// A visitor who came by the token has a pass for a week.
const logout = document.getElementById("logout");
logout.hidden = !/\bhakoiri-\d+-in=/.test(document.cookie);
logout.addEventListener("click", async () => {
  turn++;
  end();
  end = () => {};
  try {
    await post(["logout"]);
    logout.hidden = true;
    put(main, h("section", {class: "card"}, h("h1", {}, "Logged out"),
      h("p", {}, "To log in again, open the address that the server printed.")));
  } catch (error) {
    refuse(main, "Not logged out", error);
  }
  main.focus();
});
show();
