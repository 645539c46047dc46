// Elements from plain calls: h("a", {href: "#/"}, "Runs"). What is null or false is left out.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

export const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);

export const s = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

// Replaces the content of an element.
export function put(element, ...children) {
  element.replaceChildren(...children.flat().filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

export const button = (words, onclick, properties) => h("button", {type: "button", onclick, ...properties}, words);

// Saves a file.
export function save(file, name) {
  const link = h("a", {href: URL.createObjectURL(file), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href));
}

// Enables or disables a button; the focus of one that is disabled goes to one beside it.
export function enable(which, wanted) {
  const held = which === document.activeElement;
  which.disabled = !wanted;
  if (held && !wanted) (which.parentElement.querySelector("button:not(:disabled)") ?? document.getElementById("main")).focus();
}

// Announces words to screen readers.
export function say(words) {
  document.getElementById("said").textContent = words;
}
