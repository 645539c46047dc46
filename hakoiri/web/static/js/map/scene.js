// A map on a canvas, its points and moves by WebGL 2.

import {Flat, LEAST, MOST} from "./flat.js";
import {LINES, POINTS} from "./shaders.js";
import {isDark, partsOf, pixels, RAMPS} from "./words.js";

export class Scene extends Flat {
  // As its base; null where there is no WebGL 2.
  static on(...what) {
    const gl = document.createElement("canvas").getContext("webgl2", {antialias: true, alpha: false});
    return gl && new Scene(gl, ...what);
  }

  constructor(gl, ...what) {
    super(...what);
    this.gl = gl;
    this.#begin();
    gl.canvas.addEventListener("webglcontextlost", event => event.preventDefault());
    gl.canvas.addEventListener("webglcontextrestored", () => {
      this.#begin();
      this.draw();
    });
  }

  // Everything that the graphics card has: after it was lost, all anew.
  #begin() {
    const {gl, map} = this;
    this.programs = [POINTS, LINES].map(source => program(gl, source));
    this.buffers = {place: filled(gl, map.places), share: filled(gl, this.shares)};
    this.moves = filled(gl, map.moves, gl.ELEMENT_ARRAY_BUFFER);
    this.ramped = null;
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.enable(gl.DEPTH_TEST);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  }

  colour(shares) {
    filled(this.gl, shares, this.gl.ARRAY_BUFFER, this.buffers.share);
    super.colour(shares);
  }

  graph(pen, colours, matrix) {
    const {gl, map, camera, dense, canvas: {width, height}} = this;
    if (gl.isContextLost()) return;
    const [ground, unknown] = [colours.ground, colours.unknown].map(partsOf);
    Object.assign(gl.canvas, {width, height});
    gl.viewport(0, 0, width, height);
    gl.clearColor(...ground, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    this.#ramp(RAMPS[isDark(ground) ? "dark" : "light"]);
    const common = {matrix, ground, unknown,
      mist: [camera.distance, 1.3 * Math.min(camera.radius, 2.5 * camera.distance)]};
    this.#use(this.programs[0], {...common, size: [this.ball * camera.scale(height), LEAST * dense, MOST * dense]});
    gl.drawArrays(gl.POINTS, 0, map.points);
    gl.enable(gl.BLEND);
    gl.depthMask(false);
    // Many lines are seen together from afar, few from near.
    const strength = Math.max(0.16, 18000 / map.moves.length) * Math.sqrt(camera.fitted / camera.distance);
    this.#use(this.programs[1], {...common, strength: Math.min(0.7, strength)});
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.moves);
    gl.drawElements(gl.LINES, map.moves.length, gl.UNSIGNED_INT, 0);
    gl.depthMask(true);
    gl.disable(gl.BLEND);
    pen.drawImage(gl.canvas, 0, 0);
  }

  #ramp(ramp) {
    const {gl} = this;
    if (this.ramped === ramp) return;
    this.ramped = ramp;
    const row = pixels(ramp);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, row.length / 4, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, row);
    for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, side, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
  }

  // A program with its uniforms, for all points.
  #use(used, uniforms) {
    const {gl} = this;
    gl.useProgram(used);
    for (const [uniform, value] of Object.entries(uniforms)) {
      const at = gl.getUniformLocation(used, uniform);
      if (value.length === 16) gl.uniformMatrix4fv(at, false, value);
      else gl[`uniform${value.length ?? 1}fv`](at, value.length ? value : [value]);
    }
    for (const [attribute, buffer] of Object.entries(this.buffers)) {
      const at = gl.getAttribLocation(used, attribute);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, attribute === "place" ? 3 : 1, gl.FLOAT, false, 0, 0);
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
  if (!gl.getProgramParameter(made, gl.LINK_STATUS) && !gl.isContextLost()) {
    throw new Error(`the map cannot be drawn: ${gl.getProgramInfoLog(made)}`);
  }
  return made;
}

function filled(gl, values, kind = gl.ARRAY_BUFFER, buffer = gl.createBuffer()) {
  gl.bindBuffer(kind, buffer);
  gl.bufferData(kind, values, gl.STATIC_DRAW);
  return buffer;
}
