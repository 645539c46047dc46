// Plays a game along the first of its best moves until it is stopped or ends.

export const SPEEDS = {slow: 1400, usual: 650, fast: 220};

export class Film {
  game; changed; timer; pause;

  // `changed` is called when the film starts or stops.
  constructor(game, changed) {
    Object.assign(this, {game, changed, timer: null, pause: SPEEDS.usual});
  }

  get playing() { return this.timer !== null; }

  start() {
    this.timer = setTimeout(() => this.#go(), 150);
    this.changed();
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = null;
    this.changed();
  }

  async #go() {
    const mine = this.timer;
    const [move] = this.game.now.best;
    if (move) await this.game.play(move);
    if (this.timer !== mine) return;
    if (!move) this.stop();
    else this.timer = setTimeout(() => this.#go(), this.pause);
  }
}
