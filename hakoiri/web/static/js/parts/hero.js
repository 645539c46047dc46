// The top of the landing page: a board that is played at once, without a run, beside the map of all its positions.

import {part} from "../lib/api.js";
import {button, counted, h, put} from "../lib/dom.js";
import {playButton} from "./pictures.js";
import {Board} from "../picture/board.js";
import {Hand} from "../play/drag.js";
import {Game} from "../play/game.js";
import {Boards} from "../play/positions.js";

const PUZZLE = "klotski";
const SEEN = "Each dot is one of the 25,955 positions of this board, the thread is your moves, "
  + "red where they lead away from the goal, and a press on a dot plays from there.";

export function hero() {
  const board = new Board();
  const told = h("p", {class: "where", role: "status"}, "Drag a piece: bring B to the dashed place.");
  const canvas = h("canvas", {class: "map", role: "img", "aria-label": SEEN});
  let [thread, begun] = [null, false];
  const changed = ({now, past, place}) => {
    hand.refresh();
    const left = thread?.follow(past.slice(0, place + 1).map(({at}) => at));
    if (now.goal) put(told, `Solved in ${counted(place, "move")}.`);
    else if (place || begun) {
      put(told, `${counted(place, "move")} played`, left !== undefined && `, ${left} to the goal`);
    }
  };
  const game = new Game(new Boards(PUZZLE), board, changed, error => put(told, error.message));
  const hand = new Hand(board, game);
  canvas.onclick = ({offsetX, offsetY}) => {
    const key = thread?.keyAt(offsetX, offsetY);
    begun ||= key !== null;
    if (key) game.open(key).catch(error => put(told, error.message));
  };
  // The map is fetched once the board can be played.
  game.open("").then(() => part(() => import("../map/thread.js"))).then(({Thread}) => Thread.on(canvas)).then(found => {
    thread = found;
    changed(game);
  }).catch(error => put(told, h("span", {class: "reason"}, error.message)));
  return h("section", {class: "hero"},
    h("div", {class: "lead"}, h("h1", {}, "Play a puzzle. See all of it."),
      h("p", {}, "Hakoiri finds every position of a puzzle, from sliding blocks to the pocket cube, ",
        "and answers exactly: the fewest moves, the hardest board, the two farthest apart.")),
    h("div", {class: "row ways"}, playButton({puzzle: PUZZLE}, "Play", {class: "strong"}),
      h("a", {class: "button", href: "#/new/sliding"}, "Draw a board"),
      h("a", {class: "button", href: "#/browse"}, "Browse puzzles"),
      h("a", {class: "button", href: `#/new/${PUZZLE}?kind=census`}, "Explore a whole space")),
    h("div", {class: "stage"}, board.svg, told),
    h("figure", {class: "seen"}, canvas, h("figcaption", {class: "muted small"}, SEEN, " ",
      button("All of it", () => thread?.look(false), {class: "plain link"}))));
}
