// In place of `lib/api.js` in a page that is handed on: answers what the board of a run asks, from a table in the page.
// The table, compressed: the length of its JSON, the JSON, arrays of numbers (hakoiri/render/player.py writes it).

const UNREACHED = "no goal can be reached from it";

async function unpacked(text) {
  const packed = new Blob([Uint8Array.from(atob(text), letter => letter.charCodeAt(0))]);
  const bytes = await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  const length = new DataView(bytes).getUint32(0, true);
  const found = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
  let begin = 4 + length;
  for (const [name, count] of Object.entries(found.arrays)) {
    // The lowest bytes of all numbers come first, then the next ones.
    const [planes, numbers] = [new Uint8Array(bytes, begin, 4 * count), new Int32Array(count)];
    planes.forEach((byte, place) => { numbers[place % count] |= byte << (8 * Math.floor(place / count)); });
    found[name] = numbers;
    begin += 4 * count;
  }
  return found;
}

const table = await unpacked(document.getElementById("table").textContent);
export const {run} = table;
const places = new Map(table.texts.map((text, place) => [text, place]));
const known = value => (value < 0 ? null : value);

function facts(place) {
  const [text, distance] = [table.texts[place], known(table.goals[place])];
  return {configuration: text, key: text, depth: known(table.depths[place]), component: null, goal: distance === 0, goal_distance: distance};
}

function each(begins, place, what) {
  return Array.from({length: begins[place + 1] - begins[place]}, (_, number) => what(begins[place] + number));
}

const moves = place => each(table.moves_begin, place, number => ({...table.moves[table.move[number]], ...facts(place + table.target[number])}));

const picture = place => ({...table.frames[table.frame[place]], parts: each(table.parts_begin, place, number => table.parts[table.part[number]])});

const ANSWERS = {
  positions: place => ({...facts(place), goal_distance_unknown: UNREACHED, moves: moves(place)}),
  pictures: place => ({picture: picture(place), moves: moves(place)}),
  layers: depth => ({keys: table.texts.filter((_, place) => table.depths[place] === depth)}),
};

export async function get([, , what, which]) {
  const place = what === "layers" ? Number(which) : places.get(which);
  if (place === undefined) throw new Error(`${which} is not a configuration of this puzzle`);
  return ANSWERS[what](place);
}

export async function compute([, , what], {from}) {
  if (what !== "statistics") throw new Error("this page has no path between two configurations");
  if (from !== run.start || !table.statistics) throw new Error("this page has no statistics of this board");
  return table.statistics;
}
