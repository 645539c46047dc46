// Buttons that write a run as a file for other programs, and save it.

import {compute} from "../lib/api.js";
import {button, h, put, save} from "../lib/dom.js";
import {number, when} from "../lib/format.js";
import {GOALS} from "./families.js";
import {patiently} from "./waiting.js";

// The files of each kind of run that has some, and what they are.
const [TABLES, PDF] = [{csv: "CSV", parquet: "Parquet"}, {pdf: "PDF to print"}];
const GRAPHS = {words: "All configurations as a file for other programs.", files: {...TABLES, npz: "NumPy", graphml: "GraphML"}};
const FILES = {explore: GRAPHS, census: GRAPHS, generate: {words: "The boards as a table, or to print, with their solutions.", files: {...TABLES, ...PDF}},
  boards: {words: "A table of all components.", files: TABLES}, starts: {words: "The starts as a table.", files: TABLES}};
export function exportsOf(run) {
  if (!(run.kind in FILES)) return null;
  const {words, files} = FILES[run.kind];
  const hardest = run.kind === "census" || (run.kind === "explore" && run.goal_depth !== null) || (run.kind === "boards" && run.hardest);
  const listed = run.kind === "starts" && run.puzzle in GOALS;
  const told = h("span", {class: "muted", role: "status"});
  const write = async ending => {
    try {
      told.textContent = "writing …";
      const file = await compute(["runs", run.run, `export.${ending}`], {}, {form: "blob", waiting: ({headline}) => { told.textContent = headline || "writing …"; }});
      save(file, `${run.run}.${ending}`);
      told.textContent = "";
    } catch (error) {
      told.textContent = error.message;
    }
  };
  return h("section", {class: "card"}, h("h2", {}, "Export"), h("p", {class: "muted"}, [words, hardest && "The hardest as a PDF, with their solutions.", listed && "As a PDF, with their solutions."].filter(Boolean).join(" ")),
    h("p", {class: "row"}, Object.entries({...files, ...(hardest || listed ? PDF : {})}).map(([ending, name]) => button(name, () => write(ending))), told), checkOf(run), citationOf(run));
}

// The run's results are derived again by the server, a sample of them.
function checkOf(run) {
  const told = h("div", {role: "status"});
  const check = async () => {
    try {
      const {ok, checked, faults} = await patiently(told, ["runs", run.run, "verify"]);
      put(told, ok ? `Verified: ${number(checked)} configurations derived again, nothing is wrong.` : h("p", {class: "reason"}, faults.join("; ")));
    } catch (error) {
      put(told, h("p", {class: "reason"}, error.message));
    }
  };
  return h("p", {class: "row"}, button("Verify", check), told);
}

const citationOf = run => h("details", {}, h("summary", {}, "Cite this result"), h("p", {}, h("code", {}, `Hakoiri, run ${run.run} of ${when(run.created)}: ${run.puzzle}, ${run.kind} ${run.details}; `
  + `${number(run.progress.done)} ${run.progress.unit}, digest ${run.digest}.`)));
