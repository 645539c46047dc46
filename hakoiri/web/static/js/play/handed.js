// In place of `lib/api.js` in a page that is handed on: answers what the board of a run asks, from what is in the page.
// That is compressed JSON (hakoiri/render/player.py writes it): the rules of sliding blocks, else all configurations.

import {Sliding} from "../play/sliding.js";

// Rows are [text, depth, distance to the goal, frame, parts, moves with their targets], -1 for what is not known.
class Listed {
  rows; goals; depths; known; numbers;

  constructor({rows, parts, frames, moves}) {
    Object.assign(this, {rows, goals: rows.map(row => row[2]), depths: rows.map(row => row[1]),
      known: {parts, frames, moves}});
    this.numbers = new Map(rows.map(([text], place) => [text, place]));
  }

  numberOf = text => this.numbers.get(text);
  text = place => this.rows[place][0];
  picture = place => ({...this.known.frames[this.rows[place][3]],
    parts: this.rows[place][4].map(part => this.known.parts[part])});
  moves = place => this.rows[place][5].map(([move, target]) => ({...this.known.moves[move], target}));
}

const packed = new Blob([Uint8Array.from(atob(document.getElementById("table").textContent),
  letter => letter.charCodeAt(0))]);
const table = await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).json();
const space = table.sliding ? new Sliding(table) : new Listed(table);
export const run = {...table.run, handed: true, can: ["sample", table.statistics && "statistics"]};

function facts(place) {
  const [text, distance] = [space.text(place), space.goals[place]];
  return {configuration: text, key: text, depth: run.kind === "census" ? null : space.depths[place], component: null,
    goal: distance === 0, goal_distance: distance < 0 ? null : distance, lost: distance < 0};
}

const far = ({goal_distance: distance}) => distance ?? Infinity;
const moves = place => space.moves(place).map(({target, ...move}) => ({...move, ...facts(target)}))
  .sort((one, other) => far(one) - far(other) || 0);

const ANSWERS = {
  positions: place => ({...facts(place), goal_distance_unknown: "no goal can be reached from it", moves: moves(place)}),
  pictures: place => ({picture: space.picture(place), goal_text: table.goal, moves: moves(place)}),
  sample: () => ({configurations: [space.text(Math.floor(Math.random() * space.goals.length))]}),
};

export async function get([, , what, which]) {
  const place = what === "sample" ? 0 : space.numberOf(which);
  if (place === undefined) throw new Error(`${which} is not a configuration of this puzzle`);
  return ANSWERS[what](place);
}

export async function compute([, , what], {from}) {
  if (what !== "statistics") throw new Error("this page has no path between two configurations");
  if (from !== run.start || !table.statistics) throw new Error("this page has no statistics of this board");
  return table.statistics;
}

export const [made, post, remove] = Array(3).fill(() => Promise.reject(new Error("this page has no server")));
