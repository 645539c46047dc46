// A game that plays itself, move by move, until it is stopped or there is nothing left to play.

export const SPEEDS = {slow: 1400, usual: 650, fast: 220};

export class Film {
  // `next` gives the move to be played now, or null; `changed` is called when the film starts or stops.
  constructor(game, next, changed) {
    Object.assign(this, {game, next, changed, timer: null, pause: SPEEDS.usual});
  }

  get playing() {
    return this.timer !== null;
  }

  start() {
    this.timer = setTimeout(() => this.#go(), 150);
    this.changed();
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = null;
    this.changed();
  }

  async step() {
    const move = await this.next();
    if (move) await this.game.play(move);
    return move !== null;
  }

  async #go() {
    const mine = this.timer;
    const more = await this.step().catch(() => false);
    if (this.timer !== mine) return;
    if (!more) this.stop();
    else this.timer = setTimeout(() => this.#go(), this.pause);
  }
}

// The shortest solution: the first of the best moves, again and again.
export const towardGoal = game => async () => game.now.best[0] ?? null;

// A given walk: the texts of the configurations on it. From anywhere else on it there is nothing to play.
export function along(game, configurations) {
  const keys = configurations.map(text => game.positions.of(text).then(found => found.key));
  return async () => {
    const walk = await Promise.all(keys);
    const next = walk[walk.indexOf(game.now.key) + 1];
    return (walk.includes(game.now.key) && game.now.moves.find(move => move.key === next)) || null;
  };
}
