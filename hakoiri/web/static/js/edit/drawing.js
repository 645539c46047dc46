// The picture of a board that is being drawn: its pieces, walls, goals and exits, and the cell that keys would change.

import {s} from "../lib/dom.js";
import {EMPTY, WALL} from "./draft.js";

// The side of a cell, the gap around a piece, and the distance of an outline from the sides.
export const SIDE = 48;
const [GAP, INSET] = [2, 3];
const corner = (draft, cell) => [cell % draft.columns * SIDE, Math.floor(cell / draft.columns) * SIDE];
const box = (x, y, width, height, look) =>
  s("rect", {x: x + GAP, y: y + GAP, width: width - 2 * GAP, height: height - 2 * GAP, ...look});

export function draw(svg, draft, cursor) {
  const [width, height] = [draft.columns * SIDE, draft.rows * SIDE];
  svg.setAttribute("viewBox", `-4 -4 ${width + 8} ${height + 8}`);
  const cells = [...draft.cells.keys()].map(cell => {
    const [x, y] = corner(draft, cell);
    return s("rect", {x, y, width: SIDE, height: SIDE, class: draft.cells[cell] === WALL ? "cell is-edge"
      : "cell is-ground"});
  });
  const kinds = kindsOf(draft);
  const [x, y] = corner(draft, cursor);
  svg.replaceChildren(...cells, s("rect", {width, height, class: "frame"}),
    ...draft.letters.map(letter => piece(draft, letter, kinds.get(letter))),
    ...[...draft.goal].map(goal => target(draft, ...goal)), ...exits(draft),
    s("rect", {x: x + 1, y: y + 1, width: SIDE - 2, height: SIDE - 2, class: "cursor"}));
}

// Pieces with a goal have the first colour, all others that of their shape, in the order of a run: the largest first.
function kindsOf(draft) {
  const shapes = [...new Set(draft.letters.map(letter => draft.shape(draft.piece(letter))))].sort((one, other) =>
    other.length - one.length || (one < other ? -1 : 1));
  return new Map(draft.letters.map(letter =>
    [letter, draft.goal.has(letter) ? 0 : 1 + shapes.indexOf(draft.shape(draft.piece(letter))) % 6]));
}

// Cells with round corners, and bridges over where two or four of them meet.
function piece(draft, letter, kind) {
  const own = draft.piece(letter);
  const has = (cell, down, right) => draft.shifted([cell], down, right)?.every(other => own.includes(other));
  const look = {class: `kind-${kind}`};
  const boxes = own.flatMap(cell => {
    const [x, y] = corner(draft, cell);
    const [right, below] = [has(cell, 0, 1), has(cell, 1, 0)];
    return [box(x, y, SIDE, SIDE, {...look, rx: 7}), right && box(x + SIDE / 2, y, SIDE, SIDE, look),
      below && box(x, y + SIDE / 2, SIDE, SIDE, look),
      right && below && has(cell, 1, 1) && box(x + SIDE / 2, y + SIDE / 2, SIDE, SIDE, look)];
  });
  return s("g", {}, ...boxes, label(draft, own[0], letter, "letter"));
}

const label = (draft, cell, words, look) => {
  const [x, y] = corner(draft, cell);
  return s("text", {x: x + SIDE / 2, y: y + SIDE / 2, dy: 7, "font-size": 20, class: look}, words);
};

// The outline of the cells that a piece, or nothing, must be on.
function target(draft, letter, cells) {
  const edges = cells.flatMap(cell => {
    const [x, y] = corner(draft, cell);
    const [left, top, right, bottom] = [x + INSET, y + INSET, x + SIDE - INSET, y + SIDE - INSET];
    return [[-1, 0, left, top, right, top], [1, 0, left, bottom, right, bottom], [0, -1, left, top, left, bottom],
      [0, 1, right, top, right, bottom]]
      .filter(([down, across]) => !draft.shifted([cell], down, across)?.some(other => cells.includes(other)))
      .map(([,, x1, y1, x2, y2]) => s("line", {x1, y1, x2, y2, class: "target"}));
  });
  const covered = draft.cells[cells.at(-1)] !== EMPTY;
  return s("g", {}, ...edges, letter !== EMPTY && !covered && label(draft, cells.at(-1), letter, "wanted"));
}

// A goal at the edge of the board is an exit: the frame is open where the piece gets to, on the side to which it moved
// farthest.
function exits(draft) {
  return [...draft.goal].filter(([letter]) => letter !== EMPTY).flatMap(([letter, cells]) => {
    const [from, to] = [draft.piece(letter)[0], cells[0]];
    const [down, right] = [Math.floor(to / draft.columns) - Math.floor(from / draft.columns),
      to % draft.columns - from % draft.columns];
    const side = Math.abs(down) >= Math.abs(right) ? [Math.sign(down), 0] : [0, Math.sign(right)];
    return cells.filter(cell => !draft.shifted([cell], ...side)).map(cell => {
      const [x, y] = corner(draft, cell);
      const [x1, y1] = [x + (side[1] > 0 ? SIDE : 0), y + (side[0] > 0 ? SIDE : 0)];
      return s("line", {x1, y1, x2: x1 + (side[0] ? SIDE : 0), y2: y1 + (side[1] ? SIDE : 0), class: "exit"});
    });
  });
}
