// Shading on a board: the pieces of the best moves, arrows along them, and the targets of a chosen piece.

import {s} from "../lib/dom.js";
import {shapesOf} from "./shapes.js";

// `moves` are those whose one piece glides: [{piece, to: {x, y}}].
export function shade(board, moves) {
  for (const piece of board.pieces) piece.group.classList.toggle("best", moves.some(move => move.piece === piece));
  board.marks.replaceChildren(...moves.map(move => arrow(board, move)));
}

// A chevron at the edge over which the piece goes.
function arrow(board, {piece, to}) {
  const {x, y, width, height} = piece.group.getBBox();
  const [dx, dy] = [to.x - piece.x, to.y - piece.y];
  const length = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [dx / length, dy / length];
  const edge = Math.abs(ux) * width / 2 + Math.abs(uy) * height / 2 - 4;
  const [tipX, tipY] = [piece.x + x + width / 2 + ux * edge, piece.y + y + height / 2 + uy * edge];
  const corner = sign => `${tipX - ux * 6 + sign * uy * 6},${tipY - uy * 6 - sign * ux * 6}`;
  const d = `M${corner(1)} L${tipX},${tipY} L${corner(-1)}`;
  return s("g", {class: "arrow"}, s("path", {d, class: "halo"}), s("path", {d}));
}

// Shows targets to tap; `choose` is called with the move of the tapped one.
export function offer(board, moves, choose) {
  board.ghosts.replaceChildren(...moves.map(move => {
    const shapes = move.piece.part.shapes.filter(shape => shape.shape !== "label");
    const place = `translate(${move.to.x} ${move.to.y})`;
    return s("g", {class: "ghost", transform: place, onclick: () => choose(move)}, ...shapesOf({name: "", shapes}));
  }));
}
