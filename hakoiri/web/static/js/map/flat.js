// A map on a canvas in plain pixels: beside a board, and where there is no WebGL 2. Nothing is drawn unless something
// has changed.

import {isDark, partsOf, pixels, RAMPS} from "./words.js";

// Sizes in pixels of the page.
export const [LEAST, MOST] = [2, 26];
const [HALO, WAY, MARK] = [3.4, 1.8, 17];
const NEAR = 18;

export class Flat {
  // `map` as `read` gives it; `colours` are those of the page, as a function.
  constructor(canvas, map, camera, colours) {
    Object.assign(this, {canvas, map, camera, colours, way: [], marks: [], asked: 0,
      shares: new Float32Array(map.points), order: new Uint32Array(), ball: ballOf(map, camera)});
  }

  // The colour of each point, as a part of the way through the ramp.
  colour(shares) {
    this.shares = shares;
    // As numbers, which are sorted at once.
    const steps = Float64Array.from(shares, (share, point) => (Math.round(share * 255) + 256) * shares.length + point);
    this.order = Uint32Array.from(steps.sort(), step => step % shares.length);
    this.ask();
  }

  // The points of a way, and those that are marked: {point, colour, hole}.
  show(way, marks) {
    this.way = way;
    this.marks = marks;
    this.ask();
  }

  // To be drawn with the next picture of the page.
  ask = () => { this.asked ||= requestAnimationFrame(() => this.draw()); };

  fit() {
    const box = this.canvas.getBoundingClientRect();
    this.dense = Math.min(2, devicePixelRatio || 1);
    this.canvas.width = Math.max(1, Math.round(box.width * this.dense));
    this.canvas.height = Math.max(1, Math.round(box.height * this.dense));
    this.camera.aspect = this.canvas.width / this.canvas.height;
    this.ask();
  }

  // Drawn again when its size or the colours of the page change, until `end` or until it is out of the page.
  watch() {
    const again = act => () => (this.canvas.isConnected ? act() : this.end());
    const theme = new MutationObserver(again(() => this.ask()));
    theme.observe(document.documentElement, {attributeFilter: ["data-theme"]});
    const sizes = new ResizeObserver(again(() => this.fit()));
    sizes.observe(this.canvas);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.onchange = again(() => this.ask());
    this.watched = () => { theme.disconnect(); sizes.disconnect(); scheme.onchange = null; };
    this.fit();
  }

  // Where a point is on the canvas, in pixels of the page from its corner, and how far from the eye; null behind it.
  seen(point, matrix = this.camera.matrix()) {
    const {places} = this.map;
    const [x, y, z] = [places[3 * point], places[3 * point + 1], places[3 * point + 2]];
    const away = matrix[3] * x + matrix[7] * y + matrix[11] * z + matrix[15];
    if (away <= 0) return null;
    const across = (matrix[0] * x + matrix[4] * y + matrix[8] * z + matrix[12]) / away;
    const up = (matrix[1] * x + matrix[5] * y + matrix[9] * z + matrix[13]) / away;
    const [width, height] = [this.canvas.width / this.dense, this.canvas.height / this.dense];
    return {x: (across + 1) / 2 * width, y: (1 - up) / 2 * height, away};
  }

  // The point at a place of the canvas: of those under it the one in front, else the nearest one beside it; -1 if none.
  at(x, y) {
    const matrix = this.camera.matrix();
    const ball = this.ball / 2 * this.camera.scale(this.canvas.height / this.dense);
    let [found, best] = [-1, Infinity];
    for (let point = 0; point < this.map.points; point++) {
      const seen = this.seen(point, matrix);
      if (!seen) continue;
      const beside = Math.hypot(seen.x - x, seen.y - y);
      if (beside > NEAR) continue;
      const over = beside <= Math.max(LEAST, ball / seen.away);
      const cost = over ? seen.away / 1e6 : 1 + beside;
      if (cost < best) [found, best] = [point, cost];
    }
    return found;
  }

  // The points, and over them the way, each step in its own colour, and the marks.
  draw() {
    this.asked = 0;
    const {canvas, dense} = this;
    if (!canvas.isConnected) return;
    const pen = canvas.getContext("2d");
    const [colours, matrix] = [this.colours(), this.camera.matrix()];
    this.graph(pen, colours, matrix);
    pen.lineCap = "round";
    for (const [width, paint] of [[HALO, () => "ground"], [WAY, (from, to) => this.stepColour(from, to)]]) {
      pen.lineWidth = 2 * width * dense;
      this.way.slice(1).forEach((to, place) => {
        const ends = [this.way[place], to].map(point => this.seen(point, matrix));
        if (!ends.every(Boolean)) return;
        pen.strokeStyle = colours[paint(this.way[place], to)];
        pen.beginPath();
        ends.forEach(({x, y}) => pen.lineTo(x * dense, y * dense));
        pen.stroke();
      });
    }
    const radius = MARK / 2 * dense;
    for (const {point, colour, hole} of this.marks) {
      const at = this.seen(point, matrix);
      if (!at) continue;
      // A ring, or a disc where there is no hole, with edges in the colour of the ground.
      for (const [inner, outer, paint] of [[Math.max(0, hole - 0.2), 1, "ground"], [hole, 0.8, colour]]) {
        pen.lineWidth = (outer - inner) * radius;
        pen.strokeStyle = colours[paint];
        pen.beginPath();
        pen.arc(at.x * dense, at.y * dense, (inner + outer) / 2 * radius, 0, 2 * Math.PI);
        pen.stroke();
      }
    }
  }

  // All points: in space the farthest first, in a plane colour by colour.
  graph(pen, colours, matrix) {
    const {canvas, map, dense, shares} = this;
    const ramp = pixels(RAMPS[isDark(partsOf(colours.ground)) ? "dark" : "light"]);
    const scale = this.ball * this.camera.scale(canvas.height);
    const away = map.axes === 3 && Float32Array.from(this.order.keys(), point => this.seen(point, matrix)?.away ?? 0);
    const order = away ? this.order.toSorted((one, other) => away[other] - away[one]) : this.order;
    pen.fillStyle = colours.ground;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    let paint = null;
    for (const point of order) {
      const at = this.seen(point, matrix);
      if (!at) continue;
      const step = Math.round(shares[point] * 255);
      if (step !== paint) {
        pen.fillStyle = step < 0 ? colours.unknown : `rgb(${ramp.subarray(4 * step, 4 * step + 3).join(" ")})`;
      }
      paint = step;
      const side = Math.max(1, Math.min(MOST * dense, scale / at.away));
      pen.fillRect(at.x * dense - side / 2, at.y * dense - side / 2, side, side);
    }
  }

  stepColour = () => "way";

  end() {
    cancelAnimationFrame(this.asked);
    this.watched?.();
  }
}

// How wide a point is, in moves: so that neighbours are apart, and all of them where they are crowded.
const ballOf = ({points, axes}, {radius}) =>
  Math.min(0.42, 0.6 * (axes === 3 ? Math.cbrt(4.2 / points) : Math.sqrt(3.1 / points)) * radius);
