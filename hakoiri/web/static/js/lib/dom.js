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

// Announces words to screen readers.
export function say(words) {
  document.getElementById("said").textContent = words;
}
