// Pictures of configurations of a run, as they stand.

import {get} from "../lib/api.js";
import {still} from "../picture/shapes.js";

// One configuration of a run.
export async function picture(run, configuration) {
  const found = await get(["runs", run.run, "pictures", configuration]);
  return still(found.picture, configuration);
}

const starts = new Map();

// What a run begins with, or its puzzle where that is the same for all: its text and picture. Asked for once.
export function startOf(run) {
  const query = {conf: run.start ?? run.board, o: Object.entries(run.parameters).map(option => option.join("="))};
  const words = [run.puzzle, JSON.stringify(query)].join(" ");
  if (!starts.has(words)) {
    starts.set(words, get(["boards", `${run.puzzle}.json`], query));
    starts.get(words).catch(() => starts.delete(words));
  }
  return starts.get(words);
}
