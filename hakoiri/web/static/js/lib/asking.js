// A confirmation before something is done that is hard to undo.

import {button, h} from "./dom.js";

// A promise of true or false.
export function sure(question, verb, not = "Keep") {
  return new Promise(resolve => {
    const dialog = h("dialog", {class: "asked", "aria-labelledby": "asked"},
      h("p", {id: "asked"}, question),
      h("div", {class: "row end"},
        button(not, () => dialog.close("no"), {class: "quiet"}),
        button(verb, () => dialog.close("yes"), {class: "danger"})));
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue === "yes");
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
