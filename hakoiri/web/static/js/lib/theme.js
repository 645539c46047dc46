// Light, dark, or the setting of the system; stored in this browser.

const ORDER = ["auto", "light", "dark"];
const SIGNS = {auto: "◐", light: "☀", dark: "☾"};

let chosen = ORDER.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "auto";

function apply() {
  document.documentElement.dataset.theme = chosen;
  const button = document.getElementById("theme");
  button.textContent = SIGNS[chosen];
  button.setAttribute("aria-label", `Colours: ${chosen}`);
  button.title = `Colours: ${chosen}`;
}

document.getElementById("theme").addEventListener("click", () => {
  chosen = ORDER[(ORDER.indexOf(chosen) + 1) % ORDER.length];
  localStorage.setItem("theme", chosen);
  apply();
});
apply();
