// Input to a map by mouse, fingers and keys: one finger turns it, two zoom, shift and roll it.

// A pointer that moves less than this has tapped.
const STILL = 6;
const STEP = Math.PI / 24;

export class Hands {
  // `tapped(x, y, twice)` and `changed()` are told.
  constructor(canvas, camera, tapped, changed) {
    Object.assign(this, {canvas, camera, tapped, changed, down: new Map(), travelled: 0, last: {time: 0, x: 0, y: 0}});
    const listen = (name, act, options) => canvas.addEventListener(name, act, options);
    listen("pointerdown", event => this.#press(event));
    listen("pointermove", event => this.#move(event));
    listen("pointerup", event => this.#lift(event));
    listen("pointercancel", event => this.down.delete(event.pointerId));
    listen("wheel", event => {
      event.preventDefault();
      this.#change(() => camera.zoom(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) / 300)));
    }, {passive: false});
    listen("keydown", event => this.#key(event));
  }

  #change(act) {
    act();
    this.changed();
  }

  #at(event) {
    const box = this.canvas.getBoundingClientRect();
    return {x: event.clientX - box.left, y: event.clientY - box.top};
  }

  #press(event) {
    if (event.button > 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    if (!this.down.size) this.travelled = 0;
    this.down.set(event.pointerId, this.#at(event));
    if (this.down.size > 1) this.travelled = STILL;
  }

  #move(event) {
    const before = this.down.get(event.pointerId);
    if (!before) return;
    const now = this.#at(event);
    const other = [...this.down].find(([id]) => id !== event.pointerId)?.[1];
    this.down.set(event.pointerId, now);
    this.travelled += Math.hypot(now.x - before.x, now.y - before.y);
    if (this.travelled < STILL) return;
    const {height} = this.canvas.getBoundingClientRect();
    this.#change(() => {
      if (other) this.#pinch(before, now, other, height);
      else if (event.shiftKey) this.camera.shift((now.x - before.x) / height, (before.y - now.y) / height);
      else this.camera.turn((now.x - before.x) / height * Math.PI, (now.y - before.y) / height * Math.PI);
    });
  }

  // One finger of two has moved.
  #pinch(before, now, other, height) {
    const span = place => Math.max(1, Math.hypot(place.x - other.x, place.y - other.y));
    const angle = place => Math.atan2(place.y - other.y, place.x - other.x);
    this.camera.zoom(span(now) / span(before));
    this.camera.roll(angle(before) - angle(now));
    this.camera.shift((now.x - before.x) / 2 / height, (before.y - now.y) / 2 / height);
  }

  #lift(event) {
    const tap = this.down.delete(event.pointerId) && this.travelled < STILL;
    if (!tap) return;
    const {x, y} = this.#at(event);
    const twice = event.timeStamp - this.last.time < 350 && Math.hypot(x - this.last.x, y - this.last.y) < 2 * STILL;
    this.last = {time: event.timeStamp, x, y};
    this.tapped(x, y, twice);
  }

  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const {camera} = this;
    const keys = {
      ArrowLeft: () => camera.turn(-STEP, 0), ArrowRight: () => camera.turn(STEP, 0),
      ArrowUp: () => camera.turn(0, -STEP), ArrowDown: () => camera.turn(0, STEP),
      "+": () => camera.zoom(1.2), "=": () => camera.zoom(1.2), "-": () => camera.zoom(1 / 1.2),
      0: () => camera.reset(),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    this.#change(keys[event.key]);
  }
}
