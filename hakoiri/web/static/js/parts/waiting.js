// A question that may take long computing: how far it is stands where its answer will, and it can be stopped.

import {get, remove} from "../lib/api.js";
import {button, h, put} from "../lib/dom.js";

export function patiently(place, words, query, form) {
  const waiting = ({run, question, headline}) => put(place,
    h("p", {class: "muted"}, headline || "computing …"),
    button("Stop", () => remove(["runs", run, "questions", question]), {class: "quiet"}));
  return get(words, query, {waiting, form});
}
