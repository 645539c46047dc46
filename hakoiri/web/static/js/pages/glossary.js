// The glossary: the terms of docs/glossary.md, which is a link to the file that this page shows.

import {file} from "../lib/api.js";
import {h, put} from "../lib/dom.js";

const ROW = /^\| <a id="([^"]*)"><\/a>(.+?) \| (.+) \|$/;

export async function show(place, {query}, current) {
  const text = await (await file("glossary.md")).text();
  if (!current()) return;
  const rows = text.split("\n").map(line => ROW.exec(line)).filter(Boolean);
  put(place, h("section", {class: "card"}, h("h1", {}, "Glossary"),
    h("dl", {class: "terms"},
      rows.map(([, id, term, meaning]) => [h("dt", {id: `term-${id}`, class: id === query.at ? "asked-for" : null},
        term), h("dd", {}, ...plain(meaning))]).flat())));
  setTimeout(() => document.getElementById(`term-${query.at}`)?.scrollIntoView({block: "center"}));
}

// Without the link at the end, for the server does not have the pages of docs.
const plain = meaning => meaning.replace(/ \[[^\]]+\]\([^)]+\)$/, "").split("`")
  .map((part, place) => (place % 2 ? h("code", {}, part) : part.replaceAll("*", "")));
