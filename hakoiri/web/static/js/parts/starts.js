// Boards that a run has found, drawn, each to be played in a run of its own.

import {made} from "../lib/api.js";
import {button, h, put} from "../lib/dom.js";
import {counted} from "../lib/format.js";
import {still} from "../picture/shapes.js";
import {address, go} from "../router.js";
import {choosable, startOf} from "./pictures.js";

// `starts` are {board, goal, moves} with what else is known of each; an empty goal is that of the run's parameters.
export const startsOf = (run, starts) => starts.map(({board, goal, moves, name, solutions, positions, mix}, place) => {
  const parameters = {...run.parameters, ...(goal ? {goal} : {})};
  const drawn = h("div", {});
  startOf({puzzle: run.puzzle, start: board, parameters}).then(found => put(drawn, still(found.picture, board))).catch(error => put(drawn, error.message));
  const words = [name, mix, solutions && counted(solutions, "solution"), positions && counted(positions, "position")].filter(Boolean).join(" · ");
  const what = name || `board ${place + 1}`;
  const play = playButton({puzzle: run.puzzle, options: parameters, start: board}, "Play", {"aria-label": `Play ${what}`});
  return choosable(drawn, h("p", {}, h("strong", {}, counted(moves, "move"))), h("p", {class: "muted small"}, words),
    h("p", {class: "row"}, play, h("a", {class: "button", href: address(["new", run.puzzle], {...parameters, start: board}), "aria-label": `Edit ${what}`}, "Edit")));
});

// Explores a board, unless that was done before, and opens it, unless the reader has gone elsewhere.
export function playButton(asked, words, properties) {
  const play = button(words, async () => {
    const {hash} = location;
    const waiting = ({progress: {done, total}}) => { play.textContent = total ? `${Math.floor(100 * done / total)} %` : "exploring …"; };
    [play.disabled, play.textContent] = [true, "exploring …"];
    try {
      // The run that was made before may have been deleted.
      const found = await made(asked, waiting).catch(error => (error.status === 404 ? made(asked, waiting, `again ${Date.now()}`) : Promise.reject(error)));
      if (location.hash === hash) go(["runs", found.run, ...(found.status === "complete" ? ["play"] : [])]);
    } catch (error) {
      play.after(h("span", {class: "reason", role: "alert"}, error.message));
    }
    [play.disabled, play.textContent] = [false, words];
  }, properties);
  return play;
}
