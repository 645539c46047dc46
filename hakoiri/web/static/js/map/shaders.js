// The programs that draw a map: points as balls, moves as thin lines, a way as a ribbon, marks as rings.

const SHARED = `#version 300 es
precision highp float; uniform mat4 matrix; uniform vec3 ground;
uniform vec2 mist; // where it begins, and how deep it is
float fog(float away) { return 0.72 * clamp((away - mist.x) / mist.y, 0.0, 1.0); }
`;

const COLOURED = `${SHARED}
in vec3 place; in float share; uniform sampler2D ramp; uniform vec3 unknown;
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

// Each piece of the way is a quad between two points: its corners are 0 to 3.
export const RIBBON = {
  vertex: `${SHARED}
in vec3 from; in vec3 to; uniform vec2 screen; uniform float width;
void main() {
  vec4 one = matrix * vec4(from, 1.0), other = matrix * vec4(to, 1.0);
  float nearest = 0.05;
  if (one.w < nearest) one = mix(one, other, (nearest - one.w) / (other.w - one.w));
  if (other.w < nearest) other = mix(other, one, (nearest - other.w) / (one.w - other.w));
  vec2 along = (other.xy / other.w - one.xy / one.w) * screen;
  along = length(along) > 0.0001 ? normalize(along) : vec2(1.0, 0.0);
  float end = float(gl_VertexID / 2), side = float(gl_VertexID % 2) * 2.0 - 1.0;
  vec4 here = end > 0.5 ? other : one;
  vec2 off = (vec2(-along.y, along.x) * side + along * (2.0 * end - 1.0) * 0.5) * width;
  gl_Position = here + vec4(off / screen * here.w, 0.0, 0.0);
}`,
  fragment: `#version 300 es
precision highp float; uniform vec3 paint; out vec4 seen;
void main() { seen = vec4(paint, 1.0); }`,
};

export const MARKS = {
  vertex: `${SHARED}
in vec3 place; uniform float width;
void main() {
  gl_Position = matrix * vec4(place, 1.0);
  gl_PointSize = width;
}`,
  fragment: `#version 300 es
precision highp float; uniform vec3 ground; uniform vec3 paint; uniform float hole; out vec4 seen;
void main() {
  float away = length(2.0 * gl_PointCoord - 1.0);
  if (away > 1.0 || away < hole - 0.2) discard;
  seen = vec4(away > 0.8 || away < hole ? ground : paint, 1.0);
}`,
};
