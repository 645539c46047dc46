// Plays a game move by move until it is stopped or ends.

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

// A given walk: the texts of the configurations on it. From anywhere else there is nothing to play.
export function along(game, configurations) {
  let place = 0;
  const at = async index => (index in configurations ? (await game.positions.of(configurations[index])).key : null);
  return async () => {
    const here = game.now.key;
    for (const near of [place, place + 1, place - 1, 0]) {
      if (await at(near) !== here) continue;
      place = near;
      const next = await at(place + 1);
      return game.now.moves.find(move => move.key === next) ?? null;
    }
    return null;
  };
}
