// Pictures of configurations of a run, and boards to be played in runs of their own.

import {get, made} from "../lib/api.js";
import {address, button, counted, go, h, put} from "../lib/dom.js";
import {still} from "../picture/shapes.js";

// A configuration, linked to its board.
export const linked = (run, configuration) => drawn(get(["runs", run.run, "pictures", configuration]), configuration,
  h("a", {href: address(["runs", run.run, "board"], {at: configuration}), "aria-label": `Analyse ${configuration}`}));

// An element with a picture, once that has come.
export function drawn(found, words, place = h("div", {})) {
  found.then(({picture}) => put(place, still(picture, words))).catch(error => put(place, error.message));
  return place;
}

// A board to choose: its picture, and what is said and done below it.
export const choosable = (picture, ...below) => h("figure", {}, picture, h("figcaption", {}, below));

// Boards of a run to choose from, each to be played.
export const boardsOf = (run, configurations) => configurations.map(text => choosable(linked(run, text),
  h("a", {class: "button", href: address(["runs", run.run, "play"], {at: text})}, "Play")));

// Two configurations side by side, `moves` apart, with a link that plays the path between them.
export function pairOf(run, [from, to], moves) {
  return h("figure", {class: "pair"}, h("div", {class: "two"}, linked(run, from), linked(run, to)),
    h("figcaption", {}, h("a", {class: "button", href: address(["runs", run.run, "board"], {from, to})},
      `Play the path of ${counted(moves, "move")}`)));
}

const starts = new Map();

// The start of a run, by default that of its puzzle: its text and picture. Fetched once. A puzzle's file is in the run.
export function startOf(run) {
  const query = {conf: run.start ?? run.board, o: Object.entries(run.parameters).map(option => option.join("="))};
  const words = [run.puzzle, JSON.stringify(query)].join(" ");
  if (!starts.has(words)) {
    starts.set(words, run.run && run.start && run.puzzle.includes(".") ? get(["runs", run.run, "pictures", run.start])
      : get(["boards", `${run.puzzle}.json`], query));
    starts.get(words).catch(() => starts.delete(words));
  }
  return starts.get(words);
}

// Calls `act` when the element comes into view, so that a long list fetches only visible boards.
export function whenSeen(element, act) {
  const observer = new IntersectionObserver(seen => {
    if (!seen.some(({isIntersecting}) => isIntersecting)) return;
    observer.disconnect();
    act();
  });
  observer.observe(element);
}

// `starts` are {board, goal, moves} with what else is known of each; an empty goal is that of the run's parameters.
export const startsOf = (run, starts) => starts.map(({board, goal, moves, name, solutions, positions, mix}, place) => {
  const parameters = {...run.parameters, ...(goal ? {goal} : {})};
  const words = [name, mix, solutions && counted(solutions, "solution"),
    positions && counted(positions, "position")].filter(Boolean).join(" · ");
  const what = name || `board ${place + 1}`;
  const play = playButton({puzzle: run.puzzle, options: parameters, start: board}, "Play",
    {"aria-label": `Play ${what}`});
  return choosable(drawn(startOf({puzzle: run.puzzle, start: board, parameters}), board),
    h("p", {}, h("strong", {}, counted(moves, "move"))), h("p", {class: "muted small"}, words),
    h("p", {class: "row"}, play, h("a", {class: "button",
      href: address(["new", run.puzzle], {...parameters, start: board}), "aria-label": `Edit ${what}`}, "Edit")));
});

// Explores a board, unless that was done before, and opens it, unless the reader has gone elsewhere.
export function playButton(asked, words, properties) {
  const play = button(words, async () => {
    const {hash} = location;
    const waiting = ({progress: {done, total}}) => {
      play.textContent = total ? `${Math.floor(100 * done / total)} %` : "exploring …";
    };
    [play.disabled, play.textContent] = [true, "exploring …"];
    try {
      // The run that was made before may have been deleted.
      const found = await made(asked, waiting)
        .catch(error => (error.status === 404 ? made(asked, waiting, `again ${Date.now()}`) : Promise.reject(error)));
      if (location.hash === hash) go(["runs", found.run, ...(found.status === "complete" ? ["play"] : [])]);
    } catch (error) {
      play.after(h("span", {class: "reason", role: "alert"}, error.message));
    }
    [play.disabled, play.textContent] = [false, words];
  }, properties);
  return play;
}
