// A map as the server sends it, a header of JSON and arrays after it (docs/reference/http.md), and shortest paths on
// it.

const MAGIC = "HAKOMAP1";
const TYPES = {float32: Float32Array, int32: Int32Array, uint32: Uint32Array, uint8: Uint8Array};

// {...header, points, places (three numbers a point), moves (two points each), columns: {name: distances}, keys}
export function read(buffer) {
  const magic = String.fromCharCode(...new Uint8Array(buffer, 0, MAGIC.length));
  if (magic !== MAGIC) throw new Error("what the server sent is no map that this page can read");
  const length = new DataView(buffer).getUint32(MAGIC.length, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, MAGIC.length + 4, length)));
  const arrays = new Map(header.arrays.map(({name, type, shape, offset}) =>
    [name, new TYPES[type](buffer, offset, shape.reduce((one, other) => one * other, 1))]));
  const names = ["depth", "goal_distance", "eccentricity"];
  return {
    ...header,
    points: header.configurations,
    places: header.axes === 3 ? arrays.get("places") : inSpace(arrays.get("places")),
    moves: arrays.get("moves"),
    keys: arrays.get("keys"),
    columns: Object.fromEntries(names.filter(name => arrays.has(name)).map(name => [name, arrays.get(name)])),
  };
}

// A plane, as a space whose third axis is 0.
export function inSpace(flat) {
  const places = new Float32Array(flat.length / 2 * 3);
  for (let point = 0; 2 * point < flat.length; point++) {
    places[3 * point] = flat[2 * point];
    places[3 * point + 1] = flat[2 * point + 1];
  }
  return places;
}

// The key of a point, as the server writes it.
export function keyOf(map, point) {
  const width = map.keys.length / map.points;
  const bytes = map.keys.subarray(point * width, (point + 1) * width);
  return `0x${Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("")}`;
}

// The point of each key.
export const pointsOf = map => new Map(Array.from({length: map.points}, (_, point) => [keyOf(map, point), point]));

export class Ways {
  constructor({points, moves, undirected}) {
    this.near = Array.from({length: points}, () => []);
    for (let move = 0; move < moves.length; move += 2) {
      this.near[moves[move]].push(moves[move + 1]);
      if (undirected) this.near[moves[move + 1]].push(moves[move]);
    }
  }

  // The points of a shortest path, with both ends; null if there is no path.
  path(from, to) {
    if (this.from !== from) this.#search(from);
    if (this.before[to] < 0) return null;
    const found = [to];
    while (found[0] !== from) found.unshift(this.before[found[0]]);
    return found;
  }

  #search(from) {
    Object.assign(this, {from, before: new Int32Array(this.near.length).fill(-1)});
    this.before[from] = from;
    const queue = [from];
    for (const here of queue) {
      const fresh = this.near[here].filter(there => this.before[there] < 0);
      for (const there of fresh) this.before[there] = here;
      queue.push(...new Set(fresh));
    }
  }
}
