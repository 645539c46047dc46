// Tables of ten rows and more are sorted by a press on a heading; those of thirty and more can be narrowed to rows with some words.
const number = text => Number(text.replace(/[,%✓°]/g, "").trim() || NaN);
const order = (one, other) => {
  const [a, b] = [number(one), number(other)];
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b) || one.localeCompare(other, "en", {numeric: true});
  return a - b;
};

for (const table of document.querySelectorAll(".md-typeset table:not([class])")) {
  const body = table.tBodies[0], rows = [...body?.rows ?? []], heads = [...table.tHead?.rows[0].cells ?? []];
  if (rows.length < 10) continue;
  for (const [column, head] of heads.entries()) {
    if (!head.textContent.trim()) continue;
    const button = document.createElement("button");
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const before = head.ariaSort;
      for (const each of heads) each.ariaSort = null;
      head.ariaSort = before === "ascending" ? "descending" : "ascending";
      const text = row => row.cells[column].textContent, sign = before === "ascending" ? -1 : 1;
      body.append(...rows.toSorted((one, other) => sign * order(text(one), text(other))));
    });
  }
  if (rows.length < 30) continue;
  const field = Object.assign(document.createElement("input"), {type: "search", className: "narrow", placeholder: "Rows with …", ariaLabel: "Show rows with these words"});
  table.before(field);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
  });
}
