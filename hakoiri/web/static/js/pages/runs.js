// All runs, filtered and sorted, kept up to date. Runs derived from another one are listed on its card.

import {get, seen} from "../lib/api.js";
import {address, button, counted, duration, h, left, put, short, when} from "../lib/dom.js";
import {calledOf} from "../parts/families.js";
import {hero} from "../parts/hero.js";
import {barOf, lifeButtons, lonely, moving, stateBadge, whyOf} from "../parts/life.js";
import {startOf, whenSeen} from "../parts/pictures.js";
import {still} from "../picture/shapes.js";

// Milliseconds between updates while a run is queued or running, and otherwise.
const [BUSY, IDLE] = [1000, 5000];
// Runs shown at first, and added by More; and the most, among which a filter looks.
const [PAGE, MOST] = [60, 1000];
const SORTS = {
  "newest first": () => 0,
  "largest first": (one, other) => (other.configurations ?? 0) - (one.configurations ?? 0),
  "longest first": (one, other) => (other.seconds ?? 0) - (one.seconds ?? 0),
  "by puzzle": (one, other) => one.puzzle.localeCompare(other.puzzle),
};

export async function show(place, where, current) {
  const list = h("ul", {class: "gallery"});
  const more = h("p", {class: "row"});
  const wrong = h("p", {class: "reason", role: "alert"});
  const thumbs = new Map();
  const filter = h("input", {type: "search", placeholder: "Filter", "aria-label": "Filter runs by any of their words",
    oninput: () => refresh()});
  const sort = h("select", {"aria-label": "Order", onchange: () => refresh()},
    Object.keys(SORTS).map(words => h("option", {}, words)));
  const landing = !where.path.length;
  put(place, landing && hero(), h("section", {},
    h("div", {class: "heading"}, h(landing ? "h2" : "h1", {}, "Runs"),
      h("div", {class: "row"}, filter, sort, h("a", {class: "button strong", href: "#/new"}, "New run"))),
    wrong, list, more));
  let [timer, shown, turn] = [null, PAGE, 0];

  // Goes on if the server does not answer for a while.
  async function refresh() {
    clearTimeout(timer);
    // An answer that comes after one to a later question is of no use.
    const mine = ++turn;
    const wanted = () => current() && mine === turn;
    let pause = IDLE;
    await seen();
    try {
      const chosen = filter.value || sort.selectedIndex;
      const {runs, next} = await get(["runs"], {limit: chosen ? MOST : shown});
      const found = await Promise.all(nested(runs, filter.value, SORTS[sort.value])
        .map(async ([run, derived]) => [run, derived, await calledOf(run)]));
      if (!wanted()) return;
      if (found.length) put(list, found.map(([run, derived, name]) => cardOf(run, derived, name, thumbs, refresh)));
      else if (runs.length) put(list, h("li", {class: "card empty"}, h("p", {},
        `No run has the words “${filter.value}”.`), button("Show all", () => { filter.value = ""; refresh(); })));
      else {
        put(list, h("li", {class: "card empty"},
          h("p", {}, "No runs yet: play a puzzle, and its positions are explored."),
          h("a", {class: "button strong", href: "#/browse"}, "Browse puzzles")));
      }
      put(more, next && !chosen && button("More", () => { shown += PAGE; refresh(); }));
      wrong.textContent = "";
      pause = runs.some(moving) ? BUSY : IDLE;
    } catch (error) {
      if (wanted()) wrong.textContent = error.message;
    }
    if (wanted()) timer = setTimeout(refresh, pause);
  }

  await refresh();
  return () => clearTimeout(timer);
}

// Pairs of a run and the runs derived from it, as far as one of them has all words of the filter.
function nested(runs, text, order) {
  const names = new Set(runs.map(({run}) => run));
  const isOwn = ({base}) => !names.has(base);
  const wanted = text.trim().toLowerCase().split(/\s+/);
  const fits = run => wanted.every(word =>
    [run.run, run.title, run.kind, run.status, run.details].join(" ").toLowerCase().includes(word));
  return runs.filter(isOwn).map(run => [run, runs.filter(({base}) => base === run.run)])
    .filter(pair => pair.flat().some(fits)).sort(([one], [other]) => order(one, other));
}

// Thumbs are kept, with their pictures.
function cardOf(run, derived, name, thumbs, refresh) {
  if (!thumbs.has(run.run)) thumbs.set(run.run, thumbOf(run));
  return h("li", {key: run.run, class: "card run"}, thumbs.get(run.run), h("div", {class: "about"},
    bodyOf(run, name, refresh), derived.length > 0 && h("ul", {class: "derived"}, derived.map(lineOf))));
}

function thumbOf(run) {
  const drawn = h("a", {class: "thumb", href: address(["runs", run.run]), tabindex: "-1", "aria-hidden": "true"});
  // The list leaves out boards that are too large to draw.
  const known = run.kind !== "optimise" || run.start || run.board;
  if (known) whenSeen(drawn, () => startOf(run).then(found => put(drawn, still(found.picture, ""))).catch(() => {}));
  return drawn;
}

const lineOf = run => h("li", {}, h("a", {href: address(["runs", run.run])}, run.kind), " ", stateBadge(run),
  moving(run) && barOf(run));

function bodyOf(run, name, refresh) {
  const {done, total, unit} = run.progress;
  const figures = [counted(done, unit.replace(/s$/, ""), unit),
    run.solutions === undefined || run.solutions === null ? null : counted(run.solutions, "solution"),
    !run.goal_depth ? null : `solved in ${counted(run.goal_depth, "move")}`,
    run.seconds ? duration(run.seconds) : null, moving(run) && run.rate && `${short(run.rate)}/s`].filter(Boolean);
  const links = [h("a", {class: "button", href: address(["runs", run.run])}, "Open")];
  if (run.can?.includes("positions")) {
    links.unshift(h("a", {class: "button strong", href: address(["runs", run.run, "play"])}, "Play"));
  }
  const rest = [total && `${Math.floor(100 * done / total)} %`,
    left(run.seconds_left) && `${left(run.seconds_left)} left`].filter(Boolean).join(" · ");
  return [
    h("div", {class: "heading"}, h("h2", {}, h("a", {href: address(["runs", run.run])}, name)), stateBadge(run)),
    h("p", {}, figures.join(" · ")),
    moving(run) && [barOf(run), rest && h("p", {class: "muted"}, rest)],
    whyOf(run),
    lonely(run),
    h("p", {class: "muted small meta", title: run.details}, [`${run.puzzle} ${run.kind}`, run.details, run.run,
      run.created && when(run.created)].filter(Boolean).join(" · ")),
    h("div", {class: "row"}, ...links, ...lifeButtons(run, refresh)),
  ].flat();
}
