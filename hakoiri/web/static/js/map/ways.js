// Shortest paths on a map, by a breadth-first search from one point.

export class Ways {
  constructor({points, moves, undirected}) {
    this.points = points;
    this.firsts = new Uint32Array(points + 1);
    const each = visit => {
      for (let move = 0; move < moves.length; move += 2) {
        visit(moves[move], moves[move + 1]);
        if (undirected) visit(moves[move + 1], moves[move]);
      }
    };
    each(from => { this.firsts[from + 1]++; });
    for (let point = 0; point < points; point++) this.firsts[point + 1] += this.firsts[point];
    const next = this.firsts.slice(0, points);
    this.targets = new Uint32Array(this.firsts[points]);
    each((from, to) => { this.targets[next[from]++] = to; });
    this.from = -1;
  }

  // The points of a shortest path, with both ends; null if there is no path.
  path(from, to) {
    if (this.from !== from) this.#search(from);
    if (this.before[to] < 0) return null;
    const found = [to];
    while (found[0] !== from) found.unshift(this.before[found[0]]);
    return found;
  }

  #search(from) {
    this.from = from;
    this.before = new Int32Array(this.points).fill(-1);
    this.before[from] = from;
    const queue = new Uint32Array(this.points);
    queue[0] = from;
    for (let done = 0, count = 1; done < count; done++) {
      const here = queue[done];
      for (let place = this.firsts[here]; place < this.firsts[here + 1]; place++) {
        const there = this.targets[place];
        if (this.before[there] >= 0) continue;
        this.before[there] = here;
        queue[count++] = there;
      }
    }
  }
}
