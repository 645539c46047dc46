// The diameter of a component. Of a large one it is a job of the server, which is waited for.

import {get} from "../lib/api.js";

const PAUSE = 700;
const sleep = time => new Promise(resolve => { setTimeout(resolve, time); });

export async function diameterOf(run, component) {
  const words = ["runs", run, "components", String(component), "diameter"];
  let found = await get(words);
  while (found.diameter === undefined || found.diameter === null) {
    await sleep(PAUSE);
    found = await get(words);
  }
  return found;
}
