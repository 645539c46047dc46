// A long question, answered by a process or a run of its own: shows its progress in place of the answer, and a button to
// stop it.

import {compute, post, remove} from "../lib/api.js";
import {button, h, put} from "../lib/dom.js";
import {address} from "../router.js";
import {barOf, lonely} from "./life.js";

export function patiently(place, words, query, form) {
  const waiting = found => put(place, ...(found.question ? asked(found) : queued(found)));
  return compute(words, query, {waiting, form});
}

const asked = ({run, question, headline}) => [
  h("p", {class: "muted"}, headline || "computing …"),
  button("Stop", () => remove(["runs", run, "questions", question]), {class: "quiet"}),
];

const queued = run => [
  barOf(run),
  h("p", {class: "muted"}, `${run.progress.headline || run.status} · `, h("a", {href: address(["runs", run.run])}, run.run)),
  lonely(run),
  button("Stop", () => post(["runs", run.run, "cancel"]), {class: "quiet"}),
];
