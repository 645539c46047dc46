// All runs, the newest first, kept up to date.

import {get} from "../lib/api.js";
import {button, h, put} from "../lib/dom.js";
import {counted, duration, left, short, when} from "../lib/format.js";
import {barOf, lifeButtons, lonely, moving, stateBadge, whyOf} from "../parts/life.js";
import {address} from "../router.js";
import {startOf} from "../parts/pictures.js";
import {still} from "../picture/shapes.js";

// Milliseconds between updates while a run is queued or running, and otherwise.
const [BUSY, IDLE] = [1000, 5000];
// Runs shown at first, and added by More.
const PAGE = 60;

export async function show(place, where, current) {
  const list = h("ul", {class: "gallery"});
  const more = h("p", {class: "row"});
  const wrong = h("p", {class: "reason", role: "alert"});
  const cards = new Map();
  put(place, h("section", {},
    h("div", {class: "heading"}, h("h1", {}, "Runs"), h("a", {class: "button strong", href: "#/new"}, "New run")),
    wrong, list, more));
  let timer = null;
  let shown = PAGE;

  // Goes on if the server does not answer for a while.
  async function refresh() {
    clearTimeout(timer);
    let pause = IDLE;
    try {
      const {runs, next} = await get(["runs"], {limit: shown});
      if (!current()) return;
      if (runs.length) arrange(list, cards, runs, refresh);
      else put(list, h("li", {class: "card empty"}, h("p", {}, "No runs yet."), h("a", {class: "button strong", href: "#/new/klotski"}, "Explore Hakoiri-musume")));
      put(more, next && button("More", () => { shown += PAGE; refresh(); }));
      wrong.textContent = "";
      pause = runs.some(moving) ? BUSY : IDLE;
    } catch (error) {
      wrong.textContent = error.message;
    }
    if (current()) timer = setTimeout(refresh, pause);
  }

  await refresh();
  return () => clearTimeout(timer);
}

// Reuses cards, so that nothing flickers and the focus stays; only changed cards are redrawn.
function arrange(list, cards, runs, refresh) {
  const wanted = runs.map(run => {
    const card = cards.get(run.run) ?? newCard(run);
    cards.set(run.run, card);
    const text = JSON.stringify(run);
    if (card.text !== text) {
      card.text = text;
      put(card.body, ...bodyOf(run, refresh));
    }
    return card.element;
  });
  if (wanted.length !== list.children.length || wanted.some((card, place) => list.children[place] !== card)) put(list, ...wanted);
}

// Calls `act` when the element comes into view, so that a long list fetches only visible boards.
function whenSeen(element, act) {
  const observer = new IntersectionObserver(seen => {
    if (!seen.some(({isIntersecting}) => isIntersecting)) return;
    observer.disconnect();
    act();
  });
  observer.observe(element);
}

function newCard(run) {
  const body = h("div", {class: "about"});
  const drawn = h("a", {class: "thumb", href: address(["runs", run.run]), tabindex: "-1", "aria-hidden": "true"});
  // The list leaves out boards that are too large to draw.
  const known = run.kind !== "optimise" || run.start || run.board;
  if (known) whenSeen(drawn, () => startOf(run).then(found => put(drawn, still(found.picture, ""))).catch(() => {}));
  return {body, element: h("li", {class: "card run"}, drawn, body), text: null};
}

const PLAYABLE = new Set(["explore", "census"]);

function bodyOf(run, refresh) {
  const figures = [counted(run.progress.done, run.progress.unit.replace(/s$/, ""), run.progress.unit),
    run.solutions === undefined || run.solutions === null ? null : counted(run.solutions, "solution"),
    run.depth === null ? null : counted(run.depth + 1, "layer"),
    run.seconds ? duration(run.seconds) : null, run.rate ? `${short(run.rate)}/s` : null].filter(Boolean);
  const links = [h("a", {class: "button", href: address(["runs", run.run])}, "Open")];
  if (PLAYABLE.has(run.kind) && run.configurations) links.unshift(h("a", {class: "button strong", href: address(["runs", run.run, "board"])}, "Play"));
  return [
    h("div", {class: "heading"}, h("h2", {}, h("a", {href: address(["runs", run.run])}, run.puzzle || run.run)), stateBadge(run)),
    h("p", {class: "muted"}, [run.kind, run.details].filter(Boolean).join(" · ")),
    h("p", {}, figures.join(" · ")),
    moving(run) && barOf(run),
    moving(run) && left(run.seconds_left) && h("p", {class: "muted"}, `${left(run.seconds_left)} left`),
    whyOf(run),
    lonely(run),
    h("p", {class: "muted small"}, run.run, run.created && ` · ${when(run.created)}`,
      run.digest && [" · digest ", h("code", {title: run.digest}, run.digest.slice(0, 12))]),
    h("div", {class: "row"}, ...links, ...lifeButtons(run, refresh)),
  ];
}
