// Pictures of configurations of a run, as they stand.

import {get} from "../lib/api.js";
import {still} from "../picture/shapes.js";

// One configuration of a run.
export async function picture(run, configuration) {
  const found = await get(["runs", run.run, "pictures", configuration]);
  return still(found.picture, configuration);
}

// What a run begins with, or its puzzle where that is the same for all: its text and picture.
export function startOf(run) {
  const o = Object.entries(run.parameters).map(option => option.join("="));
  return get(["boards", `${run.puzzle}.json`], {conf: run.start ?? run.board, o});
}
