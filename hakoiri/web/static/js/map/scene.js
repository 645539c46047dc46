// A map on a canvas, by WebGL 2. Nothing is drawn unless something has changed.

import {Flat, HALO, LEAST, MARK, MOST, WAY} from "./flat.js";
import {LINES, MARKS, POINTS, RIBBON} from "./shaders.js";
import {isDark, partsOf, pixels, RAMPS} from "./words.js";

export class Scene extends Flat {
  // As its base; null where there is no WebGL 2.
  static on(canvas, ...what) {
    const gl = canvas.getContext("webgl2", {antialias: true, alpha: false});
    return gl && new Scene(gl, canvas, ...what);
  }

  constructor(gl, canvas, ...what) {
    super(canvas, ...what);
    this.gl = gl;
    this.#begin();
    canvas.addEventListener("webglcontextlost", event => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.#begin();
      this.draw();
    });
  }

  // Everything that the graphics card has: after it was lost, all anew.
  #begin() {
    const {gl, map} = this;
    this.programs = Object.fromEntries(Object.entries({POINTS, LINES, RIBBON, MARKS}).map(([name, source]) => [name, program(gl, source)]));
    this.buffers = {places: filled(gl, map.places), shares: filled(gl, this.shares), moves: filled(gl, map.moves, gl.ELEMENT_ARRAY_BUFFER), way: gl.createBuffer(), marks: gl.createBuffer()};
    this.ramp = gl.createTexture();
    this.ramped = null;
    gl.enable(gl.DEPTH_TEST);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  }

  colour(shares) {
    filled(this.gl, shares, this.gl.ARRAY_BUFFER, this.buffers.shares);
    super.colour(shares);
  }

  draw() {
    const {gl, canvas, camera} = this;
    this.asked = 0;
    if (gl.isContextLost()) return;
    const colours = Object.fromEntries(Object.entries(this.colours()).map(([name, colour]) => [name, partsOf(colour)]));
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(...colours.ground, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    this.matrix = camera.matrix();
    this.common = {matrix: this.matrix, ground: colours.ground, mist: [camera.distance, 1.3 * Math.min(camera.radius, 2.5 * camera.distance)]};
    this.#ramp(RAMPS[isDark(colours.ground) ? "dark" : "light"]);
    this.#graph(colours);
    gl.disable(gl.DEPTH_TEST);
    if (this.way.length > 1) this.#ribbon(colours);
    for (const mark of this.marks) this.#mark(mark, colours);
    gl.enable(gl.DEPTH_TEST);
  }

  #ramp(ramp) {
    const {gl} = this;
    gl.bindTexture(gl.TEXTURE_2D, this.ramp);
    if (this.ramped === ramp) return;
    this.ramped = ramp;
    const row = pixels(ramp);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, row.length / 4, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, row);
    for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, side, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
  }

  #graph(colours) {
    const {gl, map, buffers, dense} = this;
    const ball = this.ball * this.camera.scale(this.canvas.height);
    this.#use("POINTS", {...this.common, unknown: colours.unknown, size: [ball, LEAST * dense, MOST * dense]}, {place: [buffers.places, 3], share: [buffers.shares, 1]});
    gl.drawArrays(gl.POINTS, 0, map.points);
    gl.enable(gl.BLEND);
    gl.depthMask(false);
    // Many lines are seen together from afar, few from near.
    const strength = Math.min(0.7, Math.max(0.16, 18000 / map.moves.length) * Math.sqrt(this.camera.fitted / this.camera.distance));
    this.#use("LINES", {...this.common, unknown: colours.unknown, strength}, {place: [buffers.places, 3], share: [buffers.shares, 1]});
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffers.moves);
    gl.drawElements(gl.LINES, map.moves.length, gl.UNSIGNED_INT, 0);
    gl.depthMask(true);
    gl.disable(gl.BLEND);
  }

  #ribbon(colours) {
    const {gl, buffers, dense} = this;
    filled(gl, this.#placesOf(this.way), gl.ARRAY_BUFFER, buffers.way);
    const screen = [this.canvas.width, this.canvas.height];
    for (const [width, paint] of [[HALO, colours.ground], [WAY, colours.way]]) {
      this.#use("RIBBON", {...this.common, screen, width: 2 * width * dense, paint}, {from: [buffers.way, 3, 0, 1], to: [buffers.way, 3, 12, 1]});
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, this.way.length - 1);
    }
    for (const name of ["from", "to"]) gl.vertexAttribDivisor(gl.getAttribLocation(this.programs.RIBBON, name), 0);
  }

  #mark({point, colour, hole}, colours) {
    const {gl, buffers} = this;
    filled(gl, this.#placesOf([point]), gl.ARRAY_BUFFER, buffers.marks);
    this.#use("MARKS", {...this.common, width: MARK * this.dense, paint: colours[colour], hole}, {place: [buffers.marks, 3]});
    gl.drawArrays(gl.POINTS, 0, 1);
  }

  #placesOf = points => Float32Array.from(points.flatMap(point => [...this.map.places.subarray(3 * point, 3 * point + 3)]));

  // A program with its uniforms and attributes: [buffer, numbers, offset, instances].
  #use(name, uniforms, attributes) {
    const {gl} = this;
    const used = this.programs[name];
    gl.useProgram(used);
    for (const [uniform, value] of Object.entries(uniforms)) {
      const at = gl.getUniformLocation(used, uniform);
      if (value.length === 16) gl.uniformMatrix4fv(at, false, value);
      else gl[`uniform${value.length ?? 1}fv`](at, value.length ? value : [value]);
    }
    for (let place = 0; place < 2; place++) gl.disableVertexAttribArray(place);
    for (const [attribute, [buffer, numbers, offset = 0, instances = 0]] of Object.entries(attributes)) {
      const at = gl.getAttribLocation(used, attribute);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, numbers, gl.FLOAT, false, 0, offset);
      gl.vertexAttribDivisor(at, instances);
    }
  }

  end() {
    super.end();
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}

function program(gl, {vertex, fragment}) {
  const made = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error(`the map cannot be drawn: ${gl.getProgramInfoLog(made)}`);
  return made;
}

function filled(gl, values, kind = gl.ARRAY_BUFFER, buffer = gl.createBuffer()) {
  gl.bindBuffer(kind, buffer);
  gl.bufferData(kind, values, gl.STATIC_DRAW);
  return buffer;
}
