// The map beside the board of the landing page: all of its positions, and the moves made on it as a thread.

import {file, sleep} from "../lib/api.js";
import {Camera} from "./camera.js";
import {Flat} from "./flat.js";
import {inSpace} from "./read.js";
import {boundsOf, coloursOf, shares} from "./words.js";

// The least half width of what is seen around a thread, in moves; how much nearer each picture is to that.
const [AROUND, PACE] = [10, 0.2];
// Columns that scripts/landing_map.py has written, nine bytes a position, and parts of a move there.
const [FILE, BYTES, PARTS] = ["../../landing.map.gz", 9, 16];

async function read() {
  const {body} = await file(new URL(FILE, import.meta.url));
  const bytes = await new Response(body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  const points = bytes.byteLength / BYTES;
  const keys = new Uint32Array(bytes, 0, points);
  for (let point = 1; point < points; point++) keys[point] += keys[point - 1];
  const flat = new Uint16Array(bytes, 4 * points, 2 * points);
  const places = inSpace(Float32Array.from(flat, value => value / PARTS));
  return {points, axes: 2, keys, places, distances: new Uint8Array(bytes, 8 * points)};
}

export class Thread extends Flat {
  static async on(canvas) {
    const map = await read();
    // In tasks of their own, so that no move waits for all of it.
    await sleep(0);
    const camera = new Camera(map.places);
    await sleep(0);
    return new Thread(canvas, map, camera, () => coloursOf(canvas));
  }

  constructor(...what) {
    super(...what);
    this.colour(shares(this.map.distances, boundsOf(this.map.distances)));
    this.watch();
  }

  fit() {
    super.fit();
    this.look(this.near, false);
  }

  // The positions of a game up to the present one, by their keys as texts. Returns the moves from there to the goal.
  follow(keys) {
    const points = keys.map(key => this.map.keys.indexOf(Number(key)));
    this.show(points, [{point: points.at(-1), colour: "way", hole: 0.4}]);
    this.look(points.length > 1);
    return this.map.distances[points.at(-1)];
  }

  // All of the map, or what is around the thread; there at once, unless it `glides`.
  look(near, glides = !matchMedia("(prefers-reduced-motion: reduce)").matches) {
    const {camera, map, way} = this;
    const from = {middle: camera.middle, distance: camera.distance};
    this.near = near;
    camera.reset();
    if (near) {
      const sides = [0, 1].map(axis =>
        [Math.min, Math.max].map(choose => choose(...way.map(point => map.places[3 * point + axis]))));
      const half = Math.max(AROUND, ...sides.map(([least, most]) => (most - least) * 0.8));
      camera.middle = [...sides.map(([least, most]) => (least + most) / 2), 0];
      camera.distance *= Math.min(1, 2 * half / camera.radius);
    }
    this.to = {middle: camera.middle, distance: camera.distance};
    if (glides) Object.assign(camera, from);
    this.ask();
  }

  draw() {
    const {camera, to} = this;
    const left = [...to.middle.map((value, axis) => value - camera.middle[axis]), to.distance - camera.distance];
    camera.middle = camera.middle.map((value, axis) => value + PACE * left[axis]);
    camera.distance += PACE * left[3];
    const there = left.every(value => Math.abs(value) < 0.5);
    if (there) Object.assign(camera, to);
    super.draw();
    if (!there) this.ask();
  }

  keyAt(x, y) {
    const point = this.at(x, y);
    return point < 0 ? null : `0x${this.map.keys[point].toString(16).padStart(8, "0")}`;
  }

  stepColour = (from, to) => (this.map.distances[to] > this.map.distances[from] ? "goal" : "chosen");
}
