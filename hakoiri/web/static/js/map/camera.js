// Where a map is looked at from: turned about its middle, or about a point, from a distance.

const HALF_ANGLE = Math.tan(Math.PI / 9);
const [NEAREST, FARTHEST] = [1.5, 3];
// Beside all of it.
const ROOM = 1.03;

export class Camera {
  // `places` are three numbers a point.
  constructor(places) {
    this.places = places;
    this.solid = places.some((value, place) => place % 3 === 2 && value !== 0);
    this.radius = Math.max(1, ...[[1, 0, 0], [0, 1, 0], [0, 0, 1]].flatMap(axis => this.#extent(axis).map(Math.abs)));
    this.aspect = 1;
    this.reset();
  }

  // All of it, its longest side along that of the screen, and a little from above.
  reset() {
    this.turned = [0, 0, 0, 1];
    if (this.aspect < 0.8) this.#turn([0, 0, 1], Math.PI / 2);
    if (this.solid) {
      this.turn(0.45, 0);
      this.turn(0, 0.3);
    }
    const {x, y, z} = this.axes();
    const halves = [x, y, z].map(axis => this.#extent(axis)).map(([least, most]) => (least + most) / 2);
    this.middle = [0, 1, 2].map(axis => halves[0] * x[axis] + halves[1] * y[axis] + halves[2] * z[axis]);
    this.distance = 1;
    for (let place = 0; place < this.places.length; place += 3) {
      const across = Math.abs(this.#along(place, x) - halves[0]) / this.aspect;
      const up = Math.abs(this.#along(place, y) - halves[1]);
      const near = this.#along(place, z) - halves[2];
      this.distance = Math.max(this.distance, near + ROOM * Math.max(across, up) / HALF_ANGLE);
    }
    this.fitted = this.distance;
  }

  // Least and greatest of all points along an axis. Here and in `reset` a point costs no array: there are thousands.
  #extent(axis) {
    let [least, most] = [Infinity, -Infinity];
    for (let place = 0; place < this.places.length; place += 3) {
      const value = this.#along(place, axis);
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
    return [least, most];
  }

  // Where a point is along an axis.
  #along(place, axis) {
    const {places} = this;
    return places[place] * axis[0] + places[place + 1] * axis[1] + places[place + 2] * axis[2];
  }

  // By angles: to the right, and down.
  turn(across, down) {
    this.#turn([0, 1, 0], across);
    this.#turn([1, 0, 0], down);
  }

  roll = angle => { this.#turn([0, 0, 1], angle); };
  zoom = factor => {
    this.distance = Math.max(NEAREST, Math.min(FARTHEST * this.radius / HALF_ANGLE, this.distance / factor));
  };

  // By parts of the height of the screen.
  shift(across, up) {
    const {x, y} = this.axes();
    const step = 2 * HALF_ANGLE * this.distance;
    this.middle = this.middle.map((value, axis) => value - step * (across * x[axis] + up * y[axis]));
  }

  // Looks at a place from near enough to see what is beside it.
  visit(place) {
    this.middle = [...place];
    this.distance = Math.min(this.distance, Math.max(12, this.fitted / 6));
  }

  #turn([x, y, z], angle) {
    const [sine, cosine] = [Math.sin(angle / 2), Math.cos(angle / 2)];
    const [a, b, c, d] = [x * sine, y * sine, z * sine, cosine];
    const [e, f, g, h] = this.turned;
    const found = [d * e + a * h + b * g - c * f, d * f - a * g + b * h + c * e, d * g + a * f - b * e + c * h,
      d * h - a * e - b * f - c * g];
    const length = Math.hypot(...found);
    this.turned = found.map(value => value / length);
  }

  // The directions of the screen in the space of the map: to the right, up, and towards the eye.
  axes() {
    const [a, b, c, d] = this.turned;
    return {
      x: [1 - 2 * (b * b + c * c), 2 * (a * b - c * d), 2 * (a * c + b * d)],
      y: [2 * (a * b + c * d), 1 - 2 * (a * a + c * c), 2 * (b * c - a * d)],
      z: [2 * (a * c - b * d), 2 * (b * c + a * d), 1 - 2 * (a * a + b * b)],
    };
  }

  // From the space of the map to that of the screen, column by column, as WebGL takes it; w is the distance from the
  // eye.
  matrix() {
    const {x, y, z} = this.axes();
    const dot = (one, other) => one[0] * other[0] + one[1] * other[1] + one[2] * other[2];
    const [far, near] = [this.distance + 2 * this.radius, Math.max(0.2, this.distance - 2 * this.radius)];
    const [right, up] = [1 / (HALF_ANGLE * this.aspect), 1 / HALF_ANGLE];
    const [depth, lift] = [(far + near) / (near - far), 2 * far * near / (near - far)];
    const away = -this.distance - dot(z, this.middle);
    const columns = [0, 1, 2].map(axis => [right * x[axis], up * y[axis], depth * z[axis], -z[axis]]);
    return new Float32Array([...columns.flat(), -right * dot(x, this.middle), -up * dot(y, this.middle),
      depth * away + lift, -away]);
  }

  // How many pixels a move at a distance from the eye takes on a screen of this height is this divided by the distance.
  scale = height => height / (2 * HALF_ANGLE);
}
