// A board whose pieces live on from one configuration to the next, so that they can glide.

import {s} from "../lib/dom.js";
import {boxOf, FIXED, isLettered, likeness, shapesOf} from "./shapes.js";

// A picture whose parts have other names.
function named(picture, of) {
  const parts = picture.parts.map(part => (FIXED.includes(part.name) ? part : {...part, name: of(part.name),
    shapes: part.shapes.map(shape => (shape.text ? {...shape, text: of(shape.text)} : shape))}));
  const kinds = Object.entries(picture.kinds).map(([name, kind]) => [of(name), kind]);
  return {...picture, parts, kinds: Object.fromEntries(kinds)};
}

const same = (one, other) => Math.abs(one.x - other.x) < 0.01 && Math.abs(one.y - other.y) < 0.01;
const apart = (one, other) => (one.x - other.x) ** 2 + (one.y - other.y) ** 2;

export class Board {
  // `svg` is the picture, `pieces` what stands on it: {name, letter, x, y, form, group, part}.
  constructor() {
    this.pieces = [];
    this.ground = s("g", {});
    this.ghosts = s("g", {class: "ghosts"});
    this.group = s("g", {class: "pieces"});
    this.goal = s("g", {class: "marks"});
    this.marks = s("g", {class: "marks"});
    this.svg = s("svg", {class: "picture playable", role: "group", "aria-label": "The board"}, this.ground, this.group,
      this.goal, this.marks, this.ghosts);
  }

  // The picture from now on. `change` says what the move that led here did with the parts as they were called before.
  show(picture, change = null) {
    this.picture = picture;
    this.lettered = isLettered(picture);
    this.svg.setAttribute("viewBox", boxOf(picture));
    if (change) this.#move(change);
    for (const name of FIXED) {
      this[name].replaceChildren(...picture.parts.filter(part => part.name === name)
        .flatMap(part => shapesOf(part, picture)));
    }
    this.#match(picture.parts.filter(part => !FIXED.includes(part.name)));
  }

  // Where the pieces go before they get their new names.
  #move(change) {
    const moved = new Map(change.moved.map(part => [part.name, part]));
    const gone = new Set(change.gone);
    for (const piece of this.pieces) {
      const part = moved.get(piece.name);
      if (part) Object.assign(piece, {x: part.x, y: part.y});
      piece.gone = gone.has(piece.name);
    }
  }

  // Each part finds its piece: the one that stands there, else the one of its name, else the nearest one alike.
  #match(parts) {
    const free = new Set(this.pieces.filter(piece => !piece.gone));
    const found = new Map();
    const take = choose => {
      for (const part of parts) {
        if (found.has(part)) continue;
        const piece = choose(part, likeness(part, this.picture));
        if (piece) {
          free.delete(piece);
          found.set(part, piece);
        }
      }
    };
    const alike = (piece, form) => piece.form === form;
    take((part, form) => [...free].find(piece => alike(piece, form) && same(piece, part)));
    if (!this.lettered) take(part => [...free].find(piece => piece.name === part.name));
    take((part, form) => [...free].filter(piece => alike(piece, form))
      .sort((one, other) => apart(one, part) - apart(other, part))[0]);
    for (const piece of this.pieces) {
      if (![...found.values()].includes(piece)) piece.group.remove();
    }
    this.pieces = parts.map(part => this.#dress(found.get(part) ?? this.#born(part), part));
  }

  #born(part) {
    const group = s("g", {class: "piece"});
    this.group.append(group);
    return {letter: part.name, form: null, group};
  }

  // A piece of that name at that place, with those shapes.
  #dress(piece, part) {
    const form = likeness(part, this.picture);
    if (piece.form !== form) piece.group.replaceChildren(...shapesOf(part, this.picture));
    Object.assign(piece, {name: part.name, form, x: part.x, y: part.y, part});
    piece.group.dataset.piece = piece.name;
    this.place(piece, part);
    return piece;
  }

  // Where a piece is seen, wherever it stands.
  place = (piece, {x, y}) => { piece.group.style.transform = `translate(${x}px, ${y}px)`; };
  called = name => this.pieces.find(piece => piece.name === name);

  // The words of a move name pieces as the server does; people see the letters that the pieces came with.
  worded(words) {
    if (!this.lettered) return words;
    const [name, ...rest] = words.split(" ");
    return [this.called(name)?.letter ?? name, ...rest].join(" ");
  }

  clear() {
    this.pieces.forEach(({group}) => group.remove());
    this.pieces = [];
  }

  // Gives the pieces of what is shown the letters that its player saw.
  spell({configuration, spelled}) {
    if (this.spelled(configuration) === spelled) return;
    const letters = new Map([...configuration].map((name, place) => [name, spelled[place]]));
    const {picture} = this;
    this.clear();
    this.show(named(picture, name => letters.get(name) ?? name));
    this.show(picture);
  }

  // The picture with the letters that the player sees.
  get seen() { return this.lettered ? named(this.picture, name => this.called(name)?.letter ?? name) : this.picture; }

  // The same for a configuration; its text means the same with any letters.
  spelled = text => (this.lettered ? text.replace(/[^./#]/g, name => this.called(name)?.letter ?? name) : text);
}
