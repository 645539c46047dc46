// Where a piece may be while a finger holds it: on lines between the places that legal moves lead to.

const near = (one, other) => Math.abs(one - other) < 0.01;

// `targets` are [{x, y, move}] relative to the piece; the lines, each from one node to another.
export function railsTo(targets) {
  const nodes = [{x: 0, y: 0, move: null}, ...targets];
  const step = Math.min(...targets.map(target => Math.hypot(target.x, target.y)));
  const lines = [];
  const reached = new Set([nodes[0]]);
  for (const [place, one] of nodes.entries()) {
    for (const other of nodes.slice(place + 1)) {
      const [dx, dy] = [Math.abs(one.x - other.x), Math.abs(one.y - other.y)];
      if ((near(dx, 0) && near(dy, step)) || (near(dy, 0) && near(dx, step))) lines.push([one, other]);
    }
  }
  for (let grown = true; grown;) {
    grown = false;
    for (const line of lines) {
      if (line.some(node => reached.has(node)) && !line.every(node => reached.has(node))) {
        line.forEach(node => reached.add(node));
        grown = true;
      }
    }
  }
  for (const node of nodes) if (!reached.has(node)) lines.push([nodes[0], node]);
  return {lines, step, single: targets.every(target => near(Math.hypot(target.x, target.y), step))};
}

// The point of the rails that is nearest to where the finger is, and the node that is nearest to that point.
export function nearest(rails, x, y) {
  let best = null;
  for (const [from, to] of rails.lines) {
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    const along = Math.max(0, Math.min(1, ((x - from.x) * dx + (y - from.y) * dy) / (dx * dx + dy * dy)));
    const point = {x: from.x + along * dx, y: from.y + along * dy, node: along < 0.5 ? from : to,
      share: Math.max(along, 1 - along)};
    const away = (point.x - x) ** 2 + (point.y - y) ** 2;
    if (!best || away < best.away) best = {...point, away};
  }
  return best;
}
