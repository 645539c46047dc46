// A picture as the server gives it (parts made of shapes) becomes SVG.

import {s} from "../lib/dom.js";

const round = value => Math.round(value * 100) / 100;

// A surface has a colour of its own in the dark (tokens.css); all else keeps the colour that the server gives.
const colour = (value, surfaces) =>
  (surfaces[value] ? `light-dark(${value}, var(--dark-${surfaces[value]}))` : value || null);

const paint = (shape, surfaces) => (
  {fill: colour(shape.fill, surfaces), stroke: colour(shape.edge, surfaces), "stroke-width": shape.edge ? 1.5 : null});

const DRAWN = {
  rectangle: (shape, look) => s("rect", {x: round(shape.x), y: round(shape.y), width: round(shape.width),
    height: round(shape.height), rx: shape.radius || null, ...look}),
  circle: (shape, look) => s("circle", {cx: round(shape.x), cy: round(shape.y), r: shape.radius, ...look}),
  polygon: (shape, look) => s("polygon",
    {points: shape.points.map(point => point.map(round).join(",")).join(" "), "stroke-linejoin": "round", ...look}),
  line: (shape, look, surfaces) =>
    s("line", {x1: round(shape.x), y1: round(shape.y), x2: round(shape.to_x), y2: round(shape.to_y),
      stroke: colour(shape.colour, surfaces), "stroke-width": shape.width, "stroke-dasharray": shape.dash || null,
      class: shape.colour ? null : "exit"}),
  label: (shape, look, surfaces) => s("text", {x: round(shape.x), y: round(shape.y), dy: round(0.36 * shape.size),
    "font-size": shape.size, fill: colour(shape.colour, surfaces)}, shape.text),
};

// The shapes of a part of a picture.
export const shapesOf = (part, {surfaces}) =>
  part.shapes.map(shape => DRAWN[shape.shape](shape, paint(shape, surfaces), surfaces));

// Whether names hold for one board alone, and pieces of one kind are alike.
export const isLettered = picture => Object.keys(picture.kinds).length > 0;

// What two parts have in common that may take each other's place: their kind and colour, else all of their shapes.
export const likeness = (part, picture) =>
  (isLettered(picture) ? `kind ${picture.kinds[part.name]} ${part.shapes[0].fill}` : JSON.stringify(part.shapes));

// A picture that stays as it is.
export function still(picture, words) {
  const parts = picture.parts.map(part =>
    s("g", {transform: `translate(${round(part.x)} ${round(part.y)})`}, ...shapesOf(part, picture)));
  return s("svg", {class: "picture", role: "img", "aria-label": words, viewBox: boxOf(picture)}, ...parts);
}

// What stays where it is: the board below the pieces, the goal above them.
export const FIXED = ["ground", "goal"];

// With room for outlines.
export const boxOf = picture => `-2 -2 ${round(picture.width + 4)} ${round(picture.height + 4)}`;
