// Buttons that write a run as a file for other programs, and save it.

import {compute} from "../lib/api.js";
import {button, h} from "../lib/dom.js";

const FILES = {csv: "CSV", npz: "NumPy", graphml: "GraphML", parquet: "Parquet"};

export function exportsOf(run) {
  const told = h("span", {class: "muted", role: "status"});
  const save = async ending => {
    try {
      told.textContent = "writing …";
      const file = await compute(["runs", run.run, `export.${ending}`], {}, {form: "blob", waiting: ({headline}) => { told.textContent = headline || "writing …"; }});
      const link = h("a", {href: URL.createObjectURL(file), download: `${run.run}.${ending}`});
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href));
      told.textContent = "";
    } catch (error) {
      told.textContent = error.message;
    }
  };
  return h("section", {class: "card"}, h("h2", {}, "Export"), h("p", {class: "muted"}, "All configurations as a file for other programs."),
    h("p", {class: "row"}, Object.entries(FILES).map(([ending, words]) => button(words, () => save(ending))), told));
}
