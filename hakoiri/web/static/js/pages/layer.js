// The configurations of one layer as boards to play, in the order of their keys.

import {get} from "../lib/api.js";
import {button, h, put} from "../lib/dom.js";
import {counted, number} from "../lib/format.js";
import {boardsOf} from "../parts/pictures.js";
import {address} from "../router.js";

const PAGE = 12;

export async function show(place, {run, query}, current) {
  const depth = Number(query.n ?? 0);
  const fetched = after => get(["runs", run.run, "layers", String(depth)], {limit: PAGE, after});
  const found = await fetched();
  if (!current()) return;
  const boards = h("div", {class: "central"}, boardsOf(run, found.configurations));
  const more = h("p", {class: "row"});
  const offer = next => put(more, next && button("More", async () => {
    const further = await fetched(next);
    boards.append(...boardsOf(run, further.configurations));
    offer(further.next);
  }));
  offer(found.next);
  const other = (which, words) => which >= 0 && which <= run.depth && h("a", {class: "button", href: address(["runs", run.run, "layer"], {n: String(which)})}, words);
  put(place, h("section", {class: "card"},
    h("div", {class: "heading"}, h("h2", {}, `Layer ${number(depth)}: ${counted(found.size, "configuration")}`),
      h("div", {class: "row"}, other(depth - 1, "‹ Before"), other(depth + 1, "Next ›"))),
    boards, more));
}
