"""A film as a self-contained page: to be stepped through, and played."""

from hakoiri.render.html import page, script
from hakoiri.render.pictures.film import Film
from hakoiri.render.pictures.svg import document, number, shapes_svg, text

_BODY = """\
<style>
:root { color-scheme: light dark; font: 16px/1.4 "DejaVu Sans", Verdana, sans-serif; }
body { margin: 1rem auto; padding: 0 1rem; max-width: 60rem; text-align: center; }
h1 { font-size: 1.1rem; font-weight: normal; overflow-wrap: anywhere; }
svg { max-width: 100%; height: auto; max-height: 65vh; border-radius: 8px; }
[data-piece] { transition: transform .25s; }
#words { min-height: 1.5em; font-size: 1.1rem; }
#where { width: min(30rem, 100%); }
button, select { font: inherit; padding: .3rem .8rem; margin: .2rem; }
@media (prefers-reduced-motion: reduce) { [data-piece] { transition: none; } }
</style>
<h1>@TITLE@</h1>
@SVG@
<p id="words" aria-live="polite"></p>
<p><input id="where" type="range" min="0" value="0" aria-label="Board"></p>
<p>
<button id="first" title="Home">First</button>
<button id="back" title="Left arrow">Back</button>
<button id="play" title="Space">Play</button>
<button id="step" title="Right arrow">Step</button>
<button id="last" title="End">Last</button>
<label>Speed <select id="speed"><option value="1400">slow</option><option value="700" selected>usual</option>\
<option value="250">fast</option></select></label>
</p>
<p><small>Keys: left and right arrow, space, Home, End.</small></p>
<script>
"use strict";
const words = @WORDS@;
// For each piece in the order of the drawing: [board, x, y] where it goes, [board] where it vanishes.
const changes = @CHANGES@;
const by = name => document.getElementById(name);
const pieces = document.querySelectorAll("[data-piece]");
let board = 0, timer = null;
function show(wanted) {
  board = Math.max(0, Math.min(words.length - 1, wanted));
  pieces.forEach((piece, index) => {
    const [, x, y] = changes[index].findLast(change => change[0] <= board);
    piece.style.visibility = x === undefined ? "hidden" : "visible";
    if (x !== undefined) piece.style.transform = `translate(${x}px, ${y}px)`;
  });
  by("words").textContent = words[board];
  by("where").value = board;
  by("back").disabled = by("first").disabled = board === 0;
  by("step").disabled = by("last").disabled = board === words.length - 1;
}
function stop() {
  clearTimeout(timer);
  timer = null;
  by("play").textContent = "Play";
}
function next() {
  if (board === words.length - 1) return stop();
  show(board + 1);
  timer = setTimeout(next, Number(by("speed").value));
}
function play() {
  if (timer !== null) return stop();
  by("play").textContent = "Pause";
  if (board === words.length - 1) show(0);
  timer = setTimeout(next, 300);
}
const to = wanted => () => { stop(); show(wanted()); };
const actions = {
  first: to(() => 0), back: to(() => board - 1), play, step: to(() => board + 1), last: to(() => words.length - 1),
};
for (const name in actions) by(name).onclick = actions[name];
by("where").max = words.length - 1;
by("where").oninput = to(() => Number(by("where").value));
const keys = { Home: "first", ArrowLeft: "back", " ": "play", ArrowRight: "step", End: "last" };
document.addEventListener("keydown", event => {
  if (!(event.key in keys) || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.target.tagName === "SELECT") return;
  event.preventDefault();
  actions[keys[event.key]]();
});
show(0);
</script>
"""


def film_page(film: Film) -> str:
    """Return the page; without scripts it shows the first board."""
    groups, changes = [], []
    for sprite in film.sprites():
        first = sprite.places[0]
        style = "visibility:hidden" if first is None else f"transform:translate({first[0]:g}px, {first[1]:g}px)"
        groups.append(f'<g data-piece="{text(sprite.name)}" style="{style}">{shapes_svg(sprite.shapes)}</g>')
        changes.append([_change(board, place) for board, place in sprite.changes()])
    picture = document(film.width, film.height, film.title, "\n".join(groups))
    filled = {"TITLE": text(film.title), "SVG": picture, "WORDS": script(film.words), "CHANGES": script(changes)}
    return page(_BODY, filled)


def _change(board: int, place: tuple[float, float] | None) -> list[float]:
    return [board] if place is None else [board, *(float(number(value)) for value in place)]
