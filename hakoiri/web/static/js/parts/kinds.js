// The kinds of run for a puzzle, each with its fields, as the service describes them.

import {h} from "../lib/dom.js";
import {check, field, numeric} from "./fields.js";

// {element, value, without}: the part of the form, the fields that it adds to a new run, and the options to leave out.
export function kindsOf(puzzle, kinds, wanted = null) {
  const offered = kinds.filter(({kind}) => puzzle.kinds.includes(kind));
  const first = Math.max(0, offered.findIndex(({kind}) => kind === wanted));
  const rows = offered.map(({kind, summary, without, fields}, place) => {
    const radio = h("input", {type: "radio", name: "kind", checked: place === first, onchange: () => show()});
    const inputs = fields.map(each => inputOf(`${kind}-${each.name}`, each));
    const below = h("div", {class: "below"}, inputs.map(({element}) => element));
    const sized = fields.some(({name}) => name === "sizes") ? puzzle.size_options : [];
    return {
      radio, below, element: h("div", {}, h("label", {class: "check"}, radio, ` ${summary}`), inputs.length > 0 && below), without: [...without, ...sized],
      value: () => ({kind, ...Object.fromEntries(inputs.map(({value}, at) => [fields[at].name, value()]))}),
    };
  });
  // Hidden fields are disabled, so that the browser does not check them.
  const show = () => rows.forEach(({radio, below}) => {
    below.hidden = !radio.checked;
    below.querySelectorAll("input, textarea").forEach(input => { input.disabled = !radio.checked; });
  });
  show();
  const element = h("fieldset", {class: "field"}, h("legend", {}, "Kind of run"), rows.map(row => row.element));
  element.hidden = rows.length < 2;
  const chosen = () => rows.find(({radio}) => radio.checked);
  return {element, value: () => chosen().value(), without: () => chosen().without};
}

// The numbers of "6" or "4..8".
function numbers(text) {
  const [least, most = least] = text.split("..").map(Number);
  return Array.from({length: Math.max(0, most - least + 1)}, (_, step) => least + step);
}

// {element, value}: an input that begins with `form`, and takes its type; null is a number that may be left out.
function inputOf(id, {name, help, form, least, most, lines}) {
  const words = name.replaceAll("_", " ");
  if (typeof form === "boolean") {
    const {element, input} = check(id, `${words}: ${help}`);
    return {element, value: () => input.checked};
  }
  const text = {name, required: form !== "" || lines, spellcheck: "false", autocapitalize: "off"};
  const isNumber = form === null || typeof form === "number";
  const input = isNumber ? numeric(form, least, most) : lines ? h("textarea", {...text, rows: "4"})
    : h("input", Array.isArray(form) ? {...text, value: form.join(", "), pattern: "\\s*\\d+(\\.\\.\\d+)?(\\s*,\\s*\\d+(\\.\\.\\d+)?)*\\s*"} : {...text, class: "long", value: form});
  const read = isNumber ? value => (value === "" ? null : Number(value)) : Array.isArray(form) ? value => value.split(",").flatMap(numbers) : value => value.trim();
  return {element: field(id, words, input, help.replaceAll("`", "")), value: () => read(input.value)};
}
