// Shading on a board: the pieces of the best moves, arrows along them, and the targets of a chosen piece.

import {s} from "../lib/dom.js";
import {shapesOf} from "./shapes.js";

// The moves of a position: an arrow for a piece that glides, else a ring in the middle of what changes.
export function shade(board, moves) {
  const moved = new Set(moves.flatMap(move => [...move.moved]));
  for (const piece of board.pieces) piece.group.classList.toggle("best", moved.has(piece.name));
  board.marks.replaceChildren(...moves.map(move => {
    const piece = move.glide && board.called(move.glide.name);
    return piece ? arrow(board, {piece, to: move.glide}) : ring(centre(move.places));
  }));
}

// Shows places to tap, each of one move alone; `choose` is called with the move of the tapped one.
export function offerPlaces(board, moves, tapped, choose) {
  const near = place => moves.filter(move => move.places.some(other => distance(place, other) < 1));
  const alone = moves.flatMap(move =>
    move.places.filter(place => distance(place, tapped) > 1 && near(place).length === 1).map(place => ({move, place})));
  board.ghosts.replaceChildren(...alone.map(({move, place}) =>
    s("g", {class: "ghost", onclick: () => choose(move)}, s("circle", {cx: place.x, cy: place.y, r: 14}))));
}

export const distance = (one, other) => Math.hypot(one.x - other.x, one.y - other.y);
export const centre = places => ({x: mean(places.map(place => place.x)), y: mean(places.map(place => place.y))});
const mean = values => values.reduce((sum, value) => sum + value, 0) / values.length;
const ring = ({x, y}) =>
  s("g", {class: "arrow"}, s("circle", {cx: x, cy: y, r: 9, class: "halo"}), s("circle", {cx: x, cy: y, r: 9}));

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
    return s("g", {class: "ghost", transform: place, onclick: () => choose(move)},
      ...shapesOf({shapes}, board.picture));
  }));
}
