// The life of a run as parts of pages: its state, how far it is, and what can be done to it.

import {post, remove} from "../lib/api.js";
import {sure} from "../lib/asking.js";
import {button, h, say} from "../lib/dom.js";

const SIGNS = {queued: "○", running: "◔", complete: "●", interrupted: "◐", cancelled: "◌", failed: "✕"};
const RESUMABLE = new Set(["interrupted", "cancelled", "failed"]);

// Queued where nobody takes queued runs.
export const lonely = run => run.status === "queued" && run.served === false && h("p", {class: "reason"}, "No coordinator takes queued runs here.");

export const moving = run => run.status === "queued" || run.status === "running";

export const stateBadge = run => h("span", {class: `state is-${run.status.replace(" ", "-")}`}, h("span", {"aria-hidden": "true"}, SIGNS[run.status] ?? "!"), ` ${run.status === "cancelled" ? "paused" : run.status}`);

// Why it came to rest, where that was not the user's wish.
export const whyOf = run => run.reason && run.status !== "cancelled" && h("p", {class: "reason"}, run.reason);

export function barOf({progress}) {
  const {done, total} = progress;
  return h("progress", total ? {max: total, value: done, "aria-label": "Done"} : {"aria-label": "Under way"});
}

// Pause, resume, delete: `done` is called when the server has done it. What goes wrong stands beside the buttons.
export function lifeButtons(run, done) {
  const wrong = h("span", {class: "reason", role: "alert"});
  const act = (doing, said) => async () => {
    try {
      wrong.textContent = "";
      await doing();
      say(said);
      await done();
    } catch (error) {
      wrong.textContent = error.message;
    }
  };
  const ask = verb => () => post(["runs", run.run, verb]);
  const found = [];
  if (run.status === "running") found.push(button("Pause", act(ask("cancel"), "Paused.")));
  if (run.status === "queued") found.push(button("Cancel", act(ask("cancel"), "Cancelled.")));
  if (RESUMABLE.has(run.status)) found.push(button("Resume", act(ask("resume"), "Resumed.")));
  if (!moving(run)) {
    found.push(button("Delete", async () => {
      if (await sure(`Delete ${run.run} and all that was found?`, "Delete")) await act(() => remove(["runs", run.run]), "Deleted.")();
    }, {class: "quiet"}));
  }
  return [...found, wrong];
}
