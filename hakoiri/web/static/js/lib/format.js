// Numbers and words for people.

const GROUPED = new Intl.NumberFormat("en-US");

export const number = value => (value === null || value === undefined ? "–" : GROUPED.format(value));

// 25.9 k, 240 M: for where there is little room.
export function short(value) {
  for (const [unit, size] of [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
    if (value >= size) return `${Number((value / size).toPrecision(3))} ${unit}`;
  }
  return String(Math.round(value));
}

export const bytes = value => (value === null || value === undefined ? "–" : `${short(value)}B`.replace(/(\d)B/, "$1 B"));

// 59,000 years, 12 days, 1 h 5 min, 2.5 s.
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  for (const [unit, size] of [["years", 31557600], ["days", 86400]]) {
    if (seconds >= 10 * size) return `about ${number(Number((seconds / size).toPrecision(2)))} ${unit}`;
  }
  const [whole, minutes] = [Math.round(seconds), Math.round(seconds / 60)];
  if (whole < 60) return `${seconds.toFixed(1)} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// Bounds on the seconds left, as the server gives them.
export function left(bounds) {
  if (!bounds) return null;
  const [least, most] = bounds;
  return most - least < 1 ? duration(most) : `${duration(least)} to ${duration(most)}`;
}

export const counted = (count, one, many = `${one}s`) => `${typeof count === "string" ? count : number(count)} ${count === 1 ? one : many}`;

export const when = text => new Date(text.replace(" ", "T")).toLocaleString("en-GB", {dateStyle: "medium", timeStyle: "short"});
