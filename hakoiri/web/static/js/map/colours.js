// Colours of distances: even steps to the eye, from dark to light, and each seen on its ground (a contrast of 3 at least).

export const RAMPS = {
  light: ["#231e6c", "#441c7d", "#651883", "#87137d", "#a6156d", "#bf2556", "#cf403a", "#d55f1c", "#d47d0d"],
  dark: ["#6064d5", "#9760dd", "#c85cd2", "#f35db5", "#fe7e95", "#ff9d87", "#feb885", "#ffd183", "#f9ec76"],
};
const STEPS = 256;

const channels = colour => [1, 3, 5].map(place => parseInt(colour.slice(place, place + 2), 16));

// A row of pixels, red, green, blue and alpha, from the least to the greatest.
export function pixels(ramp) {
  const row = new Uint8Array(4 * STEPS);
  for (let step = 0; step < STEPS; step++) {
    const at = step / (STEPS - 1) * (ramp.length - 1);
    const low = Math.min(Math.floor(at), ramp.length - 2);
    const [one, other] = [channels(ramp[low]), channels(ramp[low + 1])];
    one.forEach((value, channel) => { row[4 * step + channel] = Math.round(value + (other[channel] - value) * (at - low)); });
    row[4 * step + 3] = 255;
  }
  return row;
}

// The part of the way from least to greatest of each distance; -1 where there is none.
export function shares(distances, {least, most}) {
  return Float32Array.from(distances, value => (value < 0 ? -1 : (value - least) / Math.max(1, most - least)));
}

export function boundsOf(distances) {
  let [least, most] = [Infinity, 0];
  for (const value of distances) {
    if (value >= 0) least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return {least: Math.min(least, most), most};
}

// "rgb(31, 34, 36)" as three parts of one.
export const partsOf = colour => colour.match(/[\d.]+/g).slice(0, 3).map(value => Number(value) / 255);

// Whether a ground is dark.
export const isDark = ([red, green, blue]) => 0.3 * red + 0.6 * green + 0.1 * blue < 0.5;
