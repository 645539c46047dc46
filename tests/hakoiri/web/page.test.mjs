// The parts of the page that need no browser: `node --test`.

import assert from "node:assert/strict";
import test from "node:test";
import {duration, parsed, short} from "../../../hakoiri/web/static/js/lib/dom.js";
import {movesIn, Record} from "../../../hakoiri/web/static/js/play/record.js";
import {nearest, railsTo} from "../../../hakoiri/web/static/js/play/rails.js";

const step = at => ({at, words: `to ${at}`, goal: null, lost: false});
const walked = (record, ...places) => places.forEach(at => record.add(step(at)));

test("another try keeps the first, and the same move makes no second", () => {
  const record = new Record({steps: [step("a")]});
  walked(record, "b", "c");
  record.go(1);
  walked(record, "d", "e");
  assert.deepEqual(record.line, [0, 1, 3, 4]);
  assert.deepEqual(record.beside(3), [2]);
  record.go(2);
  assert.deepEqual(record.line, [0, 1, 2]);
  record.go(1);
  walked(record, "d");
  assert.equal(record.here, 3);
  assert.equal(record.steps.length, 5);
  assert.deepEqual(record.line, [0, 1, 3, 4]);
});

test("the text has a variation after the move that it takes the place of, and is read as it is written", () => {
  const record = new Record({steps: [step("a")]});
  walked(record, "b", "c");
  record.go(0);
  walked(record, "d", "e");
  record.go(3);
  walked(record, "f");
  assert.equal(record.text, "to b\n(\nto d\nto e\n(\nto f\n)\n)\nto c");
  assert.deepEqual(movesIn("to b (to d\n to e(to f))\r\n\nto c"), movesIn(record.text));
  assert.deepEqual(new Record(JSON.parse(JSON.stringify(record))), record);
});

test("an address is read with its escapes, and a malformed one is none", () => {
  assert.deepEqual(parsed("#/runs/a%20b/board?at=AB/C+"), {path: ["runs", "a b", "board"], query: {at: "AB/C+"}});
  assert.deepEqual(parsed("#/runs/%zz").path, [null]);
  assert.deepEqual(parsed("").path, []);
});

test("numbers and times have few digits", () => {
  assert.deepEqual([999, 25900, 2.4e8].map(short), ["999", "25.9 k", "240 M"]);
  assert.deepEqual([0.25, 75, 3900, 864000].map(duration), ["250 ms", "1 min 15 s", "1 h 5 min", "about 10 days"]);
});

test("a held piece stays on the lines between the places of its moves", () => {
  const rails = railsTo([{x: 10, y: 0, move: "right"}, {x: 10, y: 10, move: "right, down"}]);
  assert.equal(rails.lines.length, 2);
  assert.equal(nearest(rails, 6, 2).node.move, "right");
  assert.equal(nearest(rails, 30, 8).node.move, "right, down");
  assert.equal(nearest(rails, -5, 3).node.move, null);
});
