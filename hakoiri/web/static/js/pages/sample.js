// Random configurations of a run, each as likely as any other, as boards to play.

import {get} from "../lib/api.js";
import {button, h, put} from "../lib/dom.js";
import {boardsOf} from "../parts/pictures.js";

const COUNT = 6;

export async function show(place, {run}, current, seed = 0) {
  const found = await get(["runs", run.run, "sample"], {n: COUNT, seed});
  if (!current()) return;
  const others = () => show(place, {run}, current, Math.floor(Math.random() * 2 ** 32));
  put(place, h("section", {class: "card"}, h("h2", {}, "Random configurations"),
    h("div", {class: "central"}, boardsOf(run, found.configurations)), h("p", {class: "row"}, button("Others", others))));
}
