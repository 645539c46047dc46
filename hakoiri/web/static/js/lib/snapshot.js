// A drawing of the page as a file: an SVG with the styles that it has on the page, or its pixels.

const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size",
  "font-weight", "text-anchor", "visibility"];

export function drawing(plot, wide, high) {
  const copy = plot.cloneNode(true);
  const [from, to] = [plot, copy].map(drawn => [drawn, ...drawn.querySelectorAll("*")]);
  from.forEach((shape, place) =>
    STYLES.forEach(name => to[place].style.setProperty(name, getComputedStyle(shape).getPropertyValue(name))));
  copy.setAttribute("width", wide);
  copy.setAttribute("height", high);
  return new Blob([new XMLSerializer().serializeToString(copy)], {type: "image/svg+xml"});
}

// On the ground of the card or dialog that the drawing is in.
export async function pixels(drawn, plot) {
  const [image, canvas] = [new Image(), document.createElement("canvas")];
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(await drawn.text())}`;
  await image.decode();
  [canvas.width, canvas.height] = [image.width, image.height];
  const pen = canvas.getContext("2d");
  pen.fillStyle = getComputedStyle(plot.closest(".card, dialog") ?? document.documentElement).backgroundColor;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0);
  return new Promise(done => { canvas.toBlob(done); });
}
