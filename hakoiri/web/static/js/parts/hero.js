// The top of the landing page: a board that is played at once, without a run, and the ways from there.

import {counted, h, put} from "../lib/dom.js";
import {playButton} from "./pictures.js";
import {Board} from "../picture/board.js";
import {Hand} from "../play/drag.js";
import {Game} from "../play/game.js";
import {Boards} from "../play/positions.js";

const PUZZLE = "klotski";

export function hero() {
  const board = new Board();
  const told = h("p", {class: "where", role: "status"}, "Drag a piece: bring B to the dashed place.");
  const changed = ({now, place}) => {
    hand.refresh();
    if (place) put(told, now.goal ? `Solved in ${counted(place, "move")}.` : `${counted(place, "move")} played`);
  };
  const game = new Game(new Boards(PUZZLE), board, changed, error => put(told, error.message));
  const hand = new Hand(board, game);
  game.open("").catch(error => put(told, h("span", {class: "reason"}, error.message)));
  return h("section", {class: "hero"},
    h("div", {class: "lead"}, h("h1", {}, "Play a puzzle. See all of it."),
      h("p", {}, "Hakoiri finds every position of a puzzle, from sliding blocks to the pocket cube, and answers exactly: the fewest moves, the hardest board, the two farthest apart.")),
    h("div", {class: "row ways"}, playButton({puzzle: PUZZLE}, "Play", {class: "strong"}), h("a", {class: "button", href: "#/new/sliding"}, "Draw a board"),
      h("a", {class: "button", href: "#/browse"}, "Browse puzzles"), h("a", {class: "button", href: `#/new/${PUZZLE}?kind=census`}, "Explore a whole space")),
    h("div", {class: "stage"}, board.svg, told));
}
