// Hands on what is shown: its link, a board as files and as a part of other pages, a run as files for other programs.

import {compute, get} from "../lib/api.js";
import {address, button, h, number, put, save, sheet} from "../lib/dom.js";
import {drawing, pixels} from "../lib/snapshot.js";
import {patiently} from "./life.js";
import {still} from "../picture/shapes.js";

// `board` gives {run, picture, at, goal}: the last is the distance to the goal, null if unknown.
export const shareButton = (board = () => null) => button("Share", () => open(board()));

function open(board) {
  const told = h("p", {class: "muted", role: "status"});
  const picture = board && still(board.picture, "The board");
  const copied = (words, value) => {
    const field = h("input", {readonly: true, value, onfocus: () => field.select()});
    const copy = () => navigator.clipboard.writeText(value)
      .then(() => { told.textContent = `${words}: copied.`; }, () => field.focus());
    return h("div", {class: "row copied"}, h("label", {}, words, field), button("Copy", copy));
  };
  const files = board ? filesOf(board, picture)
    .map(([words, ending, make]) => button(words, () => write(told, `${board.run.run}.${ending}`, make))) : [];
  const page = board?.run.handed ? location.pathname.split("/").at(-1) : `${board?.run.run}.html`;
  const source = board && page + address(["runs", board.run.run, "play"], {at: board.at});
  sheet("Share", {class: "asked shared"}, picture, copied("Link", location.href),
    isAlone() && h("p", {class: "muted small"}, "Only this machine can open this link: its server listens at ",
      `${location.hostname}. `, "Others can with ", h("code", {}, "hakoiri serve --host"), "."),
    board && h("div", {class: "row"}, files),
    board && isPlayed(board) && [copied("Embed", `<iframe src="${source}" width="720" height="640"></iframe>`),
      h("p", {class: "muted small"}, "Put the page to play beside your own.")], told);
}

// Saves a file that takes long, and says how far it is.
async function write(told, name, make) {
  try {
    told.textContent = "writing …";
    const file = await make(({headline}) => { told.textContent = headline || "writing …"; });
    if (file) save(file, name);
    told.textContent = "";
  } catch (error) {
    told.textContent = error.message;
  }
}

const exported = (run, words, query = {}) => waiting =>
  compute(["runs", run.run, words], query, {form: "blob", waiting});

// Whether the address of the page means another machine on every other machine.
const isAlone = () => /^(localhost|127\..*|\[::1\])$/.test(location.hostname);

// Runs that fit into a page to play.
const isPlayed = ({run}) => run.handed || run.can.includes("export.html");

function filesOf({run, at, goal, ...board}, picture) {
  const svg = () => drawing(picture, 4 * board.picture.width, 4 * board.picture.height);
  return [
    !run.handed && isPlayed({run}) && ["Page to play (HTML)", "html", exported(run, "export.html")],
    !run.handed && goal > 0 && ["Film (GIF)", "gif", exported(run, "film.gif", {from: at})],
    ["SVG", "svg", svg], ["PNG", "png", () => pixels(svg(), picture)],
    ["Print or PDF", "pdf", () => { document.querySelector("dialog").close(); print(); }],
  ].filter(Boolean);
}

const FILES = {csv: "CSV", parquet: "Parquet", npz: "NumPy", graphml: "GraphML", pdf: "PDF to print"};

export function exportsOf(run) {
  const told = h("span", {class: "muted", role: "status"});
  const files = Object.entries(FILES).filter(([ending]) => run.can.includes(`export.${ending}`));
  const words = [files.length > 1 && "All of it as a file for other programs.",
    run.can.includes("export.pdf") && "As a PDF the hardest boards with their solutions."];
  return h("section", {class: "card"}, h("h2", {}, "Export"), h("p", {class: "muted"}, words.filter(Boolean).join(" ")),
    h("p", {class: "row"}, files.map(([ending, name]) => button(name, () =>
      write(told, `${run.run}.${ending}`, exported(run, `export.${ending}`)))), told), checkOf(run), citationOf(run));
}

// The run's results are derived again by the server, a sample of them.
function checkOf(run) {
  const told = h("div", {role: "status"});
  const check = () => patiently(told, ["runs", run.run, "verify"]).then(({ok, checked, faults}) => {
    const counts = Object.entries(checked).map(([what, count]) => `${number(count)} ${what}`).join(", ");
    put(told, ok ? `Verified: ${counts}; nothing is wrong.` : h("p", {class: "reason"}, faults.join("; ")));
  }).catch(error => put(told, h("p", {class: "reason"}, error.message)));
  return h("p", {class: "row"}, button("Verify", check), told);
}

function citationOf(run) {
  const entry = h("pre", {});
  const show = () => get(["runs", run.run, "citation"])
    .then(({bibtex}) => put(entry, bibtex), error => put(entry, error.message));
  return h("details", {ontoggle: show}, h("summary", {}, "Cite this result"), entry);
}
