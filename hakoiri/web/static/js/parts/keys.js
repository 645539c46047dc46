// The sheet of keys, which "?" opens.

import {button, h} from "../lib/dom.js";

const KEYS = [["Tab", "to the next piece, move or field"], ["Arrows", "move the chosen piece, choose a cell, turn the map"], ["H", "a hint; again: makes the move"], ["Z, Y", "undo, redo"],
  ["Space", "plays the solution; in the editor, takes and lets go"], ["Ctrl+Z, Ctrl+Y", "undo, redo in the editor"], ["Alt and drag", "draws a piece cell by cell"], ["Escape", "gives up what is held"],
  ["+, −, 0", "the map nearer, farther, whole"], ["?", "this sheet"]];

export function keySheet() {
  const dialog = h("dialog", {class: "asked", "aria-labelledby": "keys"}, h("h2", {id: "keys"}, "Keys"),
    h("dl", {class: "keys"}, KEYS.map(([key, does]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, does)]).flat()), button("Close", () => dialog.close()));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
