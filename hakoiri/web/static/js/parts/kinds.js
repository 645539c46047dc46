// The kinds of run for a puzzle, each with its fields, as the service describes them.

import {h} from "../lib/dom.js";
import {check, choices, field, numeric} from "./fields.js";

// {element, value, without}: the part of the form, the fields that it adds to a new run, and the options to leave out.
export function kindsOf(puzzle, kinds, wanted = null) {
  const offered = kinds.filter(({kind}) => puzzle.kinds.includes(kind));
  const first = Math.max(0, offered.findIndex(({kind}) => kind === wanted));
  const rows = offered.map(({kind, summary, without, fields}, place) => {
    const radio = h("input", {type: "radio", name: "kind", checked: place === first, onchange: () => show()});
    const inputs = fields.map(each => inputOf(`${kind}-${each.name}`, each));
    const shown = rare => inputs.filter((_, at) => fields[at].rare === rare).map(({element}) => element);
    const below = h("div", {class: "below"}, shown(false),
      shown(true).length > 0 && h("details", {}, h("summary", {}, "Further"), shown(true)));
    return {
      radio, below, element: h("div", {}, h("label", {class: "check"}, radio, ` ${summary}`),
        inputs.length > 0 && below), without,
      value: () => ({kind, ...Object.fromEntries(inputs.map(({value}, at) => [fields[at].name, value()]))}),
    };
  });
  // Hidden fields are disabled, so that the browser does not check them.
  const show = () => rows.forEach(({radio, below}) => {
    below.hidden = !radio.checked;
    below.querySelectorAll("input, select, textarea").forEach(input => { input.disabled = !radio.checked; });
  });
  show();
  const element = h("fieldset", {class: "field"}, h("legend", {}, "Kind of run"), rows.map(row => row.element));
  element.hidden = rows.length < 2;
  const chosen = () => rows.find(({radio}) => radio.checked);
  return {element, value: () => chosen().value(), without: () => chosen().without};
}

// {element, value}: an input that begins with `form`, and takes its type; without a `form` it is a number or null.
function inputOf(id, {name, help, form, least, most, lines, values}) {
  const words = name.replaceAll("_", " ");
  if (typeof form === "boolean") {
    const {element, input} = check(id, `${words}: ${help}`);
    return {element, value: () => input.checked};
  }
  const text = {name, required: form !== "", spellcheck: "false", autocapitalize: "off"};
  const number = form === null || typeof form === "number";
  const input = number ? numeric(form, least, most) : values.length ? choices(values, form)
    : lines ? h("textarea", {...text, rows: "3"}) : h("input", {...text, class: "long", value: form});
  const read = value => (number ? (value === "" ? null : Number(value)) : value.trim());
  return {element: field(id, words, input, help.replaceAll("`", "")), value: () => read(input.value)};
}
