// A picture as the server gives it (parts made of shapes) becomes SVG.

import {s} from "../lib/dom.js";

// What is ground and edge on light paper has other colours in the dark; these are the colours of the server.
const THEMED = {"#efebe3": "ground", "#4a4a4a": "edge", "#d9d4c9": "ground", "#ffffff": "paper"};
const KINDS = 7;

const round = value => Math.round(value * 100) / 100;

function paint(shape, themed) {
  const found = {fill: shape.fill, stroke: shape.edge || null, "stroke-width": shape.edge ? 1.5 : null};
  if (themed && THEMED[shape.fill]) found.class = `is-${THEMED[shape.fill]}`;
  return found;
}

const DRAWN = {
  rectangle: (shape, look) => s("rect", {x: round(shape.x), y: round(shape.y), width: round(shape.width), height: round(shape.height), rx: shape.radius || null, ...look}),
  circle: (shape, look) => s("circle", {cx: round(shape.x), cy: round(shape.y), r: shape.radius, ...look}),
  polygon: (shape, look) => s("polygon", {points: shape.points.map(point => point.map(round).join(",")).join(" "), "stroke-linejoin": "round", ...look}),
  line: shape => s("line", {x1: round(shape.x), y1: round(shape.y), x2: round(shape.to_x), y2: round(shape.to_y), stroke: shape.colour, "stroke-width": shape.width, class: THEMED[shape.colour] ? "is-line" : null}),
  label: shape => s("text", {x: round(shape.x), y: round(shape.y), dy: round(0.36 * shape.size), "font-size": shape.size, fill: shape.colour}, shape.text),
};

// The shapes of a part; with a `kind`, in the colour of that kind.
export function shapesOf(part, kind = null) {
  const themed = part.name === "ground" || part.shapes.some(shape => shape.shape === "line");
  return part.shapes.map(shape => {
    const look = kind === null || shape.shape === "label" ? paint(shape, themed) : {class: `kind-${kind}`};
    const drawn = DRAWN[shape.shape](shape, look);
    if (kind !== null && shape.shape === "label") drawn.setAttribute("class", "letter");
    return drawn;
  });
}

// Whether names hold for one board alone, and pieces of one kind are alike.
export const isLettered = picture => Object.keys(picture.kinds).length > 0;

// What two parts have in common that may take each other's place: their kind, else all of their shapes.
export const likeness = (part, picture) => (isLettered(picture) ? `kind ${picture.kinds[part.name]}` : JSON.stringify(part.shapes));

// The colour, a number, of each kind of a lettered picture, the largest first; 0 is for a largest piece of its own.
export function coloursOf(picture) {
  const area = part => part.shapes.reduce((sum, shape) => sum + (shape.width ?? 0) * (shape.height ?? 0), 0);
  const kinds = new Map();
  for (const part of picture.parts) {
    const form = likeness(part, picture);
    if (part.name !== "ground") kinds.set(form, {count: 1 + (kinds.get(form)?.count ?? 0), area: area(part)});
  }
  const order = [...kinds].sort(([, one], [, other]) => other.area - one.area || one.count - other.count);
  const [first, second] = order.map(([, kind]) => kind);
  const alone = first?.count === 1 && first.area > (second?.area ?? 0);
  return new Map(order.map(([form], place) => [form, alone ? place % KINDS : 1 + (place % (KINDS - 1))]));
}

// A picture that stays as it is.
export function still(picture, words) {
  const colours = isLettered(picture) ? coloursOf(picture) : null;
  const parts = picture.parts.map(part => {
    const kind = colours?.get(likeness(part, picture)) ?? null;
    return s("g", {transform: `translate(${round(part.x)} ${round(part.y)})`}, ...shapesOf(part, kind));
  });
  return s("svg", {class: "picture", role: "img", "aria-label": words, viewBox: boxOf(picture)}, ...parts);
}

// With room for outlines.
export const boxOf = picture => `-2 -2 ${round(picture.width + 4)} ${round(picture.height + 4)}`;
