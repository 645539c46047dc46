// The state and progress of a run and of long questions, and the buttons that change them.

import {compute, post, remove} from "../lib/api.js";
import {address, button, h, put, say, sure} from "../lib/dom.js";

const SIGNS = {queued: "○", running: "◔", complete: "●", interrupted: "◐", cancelled: "◌", failed: "✕"};
const RESUMABLE = new Set(["interrupted", "cancelled", "failed"]);

// A note on a queued run that no coordinator will drive.
export const lonely = run => run.status === "queued" && run.served === false
  && h("p", {class: "reason"}, "No coordinator is running, so queued runs wait.");
export const moving = run => run.status === "queued" || run.status === "running";
export const stateBadge = run => h("span", {class: `state is-${run.status.replace(" ", "-")}`},
  h("span", {"aria-hidden": "true"}, SIGNS[run.status] ?? "!"), ` ${run.status}`);

// The reason why a run stopped, unless the user cancelled it.
export const whyOf = run => run.reason && run.status !== "cancelled"
  && h("p", {key: "why", class: "reason"}, run.reason);

export function barOf({progress}) {
  const {done, total} = progress;
  return h("progress", {key: "bar",
    ...(total ? {max: total, value: done, "aria-label": "Done"} : {"aria-label": "Under way"})});
}

const MOST_TITLE = 200;

// Cancel, resume, delete: `done` is called after each. Errors are shown beside the buttons. `called` is the run's
// title, if that may be changed here.
export function lifeButtons(run, done, called = null) {
  const act = (doing, said) => async ({currentTarget}) => {
    const wrong = put(currentTarget.parentElement.querySelector("[role=alert]"));
    await doing().then(() => {
      say(said);
      return done();
    }).catch(error => put(wrong, error.message));
  };
  const ask = verb => () => post(["runs", run.run, verb]);
  const found = [];
  if (called) {
    found.push(button("Rename", async event => {
      const title = prompt("The title of this run:", called)?.slice(0, MOST_TITLE);
      if (title !== undefined) await act(() => post(["runs", run.run, "title"], {title}), "Renamed.")(event);
    }, {class: "quiet"}));
  }
  if (moving(run)) found.push(button("Cancel", act(ask("cancel"), "Told to stop.")));
  if (RESUMABLE.has(run.status)) found.push(button("Resume", act(ask("resume"), "Resumed.")));
  if (!moving(run)) {
    found.push(button("Delete", async ({currentTarget}) => {
      if (!await sure(`Delete ${run.run} and all its results?`, "Delete")) return;
      await act(() => remove(["runs", run.run]), "Deleted.")({currentTarget});
    }, {class: "quiet"}));
  }
  for (const each of found) each.key = each.textContent;
  return [...found, h("span", {key: "wrong", class: "reason", role: "alert"})];
}

export function patiently(place, words, query, form) {
  const waiting = found => put(place, ...(found.question ? asked(found) : queued(found)));
  return compute(words, query, {waiting, form});
}

const asked = ({run, question, headline}) => [
  h("p", {key: "told", class: "muted"}, headline || "computing …"),
  button("Stop", () => remove(["runs", run, "questions", question]), {key: "stop", class: "quiet"}),
];

const queued = run => [
  barOf(run),
  h("p", {key: "told", class: "muted"}, `${run.progress.headline || run.status} · `,
    h("a", {href: address(["runs", run.run])}, run.run)),
  lonely(run),
  button("Stop", () => post(["runs", run.run, "cancel"]), {key: "stop", class: "quiet"}),
];
