// The programs that draw a map: points as balls, moves as thin lines.

const COLOURED = `#version 300 es
precision highp float; uniform mat4 matrix; uniform vec3 ground; uniform vec3 unknown; uniform sampler2D ramp;
uniform vec2 mist; // where it begins, and how deep it is
in vec3 place; in float share;
float fog(float away) { return 0.72 * clamp((away - mist.x) / mist.y, 0.0, 1.0); }
vec3 colour() { return share < 0.0 ? unknown : texture(ramp, vec2(share * 0.996 + 0.002, 0.5)).rgb; }
`;

export const POINTS = {
  vertex: `${COLOURED}
uniform vec3 size; // of a move at the distance 1, least and most, in pixels
out vec3 tint;
void main() {
  gl_Position = matrix * vec4(place, 1.0);
  gl_PointSize = clamp(size.x / gl_Position.w, size.y, size.z);
  tint = mix(colour(), ground, fog(gl_Position.w));
}`,
  fragment: `#version 300 es
precision highp float; in vec3 tint; out vec4 seen;
void main() {
  vec2 at = 2.0 * gl_PointCoord - 1.0;
  float near = dot(at, at);
  if (near > 1.0) discard;
  float light = 0.82 + 0.18 * sqrt(1.0 - near) - 0.1 * (at.x + at.y);
  seen = vec4(tint * min(light, 1.08), 1.0);
}`,
};

export const LINES = {
  vertex: `${COLOURED}
uniform float strength; out vec4 tint;
void main() {
  gl_Position = matrix * vec4(place, 1.0);
  tint = vec4(colour(), strength * (1.0 - fog(gl_Position.w)));
}`,
  fragment: `#version 300 es
precision highp float; in vec4 tint; out vec4 seen;
void main() { seen = tint; }`,
};
