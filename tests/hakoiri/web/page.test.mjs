// The parts of the page that need no browser: `node --test`.

import assert from "node:assert/strict";
import test from "node:test";
import {ceiling, steps, tens} from "../../../hakoiri/web/static/js/charts/frame.js";
import {Draft} from "../../../hakoiri/web/static/js/edit/draft.js";
import {address, bytes, duration, left, parsed, short} from "../../../hakoiri/web/static/js/lib/dom.js";
import {Ways} from "../../../hakoiri/web/static/js/map/read.js";
import {isOf} from "../../../hakoiri/web/static/js/parts/families.js";
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

test("an address is written with the slashes and commas of a board", () => {
  const written = address(["runs", "a b"], {at: "AB/C.", to: null, from: "1,2"});
  assert.equal(written, "#/runs/a%20b?at=AB/C.&from=1,2");
  assert.deepEqual(parsed(written), {path: ["runs", "a b"], query: {at: "AB/C.", from: "1,2"}});
});

test("figures and times are short and keep their zeros", () => {
  const numbers = [0, 999, 1_000, 25_955, 25_900, 100_000, 500_000, 999_999, 120_000_000, 1e11, 1e13];
  assert.deepEqual(numbers.map(short), ["0", "999", "1 k", "26 k", "25.9 k", "100 k", "500 k", "1000 k", "120 M", "100 G", "10 T"]);
  const seconds = [0.25, 0.5, 5, 59.97, 60, 75, 119.6, 600, 3599.7, 3900, 7199.9, 864000, 1e6, 1.872e12];
  assert.deepEqual(seconds.map(duration), ["250 ms", "500 ms", "5.0 s", "1 min 0 s", "1 min 0 s", "1 min 15 s", "2 min 0 s",
    "10 min 0 s", "1 h 0 min", "1 h 5 min", "2 h 0 min", "about 10 days", "about 12 days", "about 59,000 years"]);
  assert.deepEqual([null, 12, 3.4e6].map(bytes), ["–", "12 B", "3.4 MB"]);
  assert.deepEqual([left(null), left([5, 5.5]), left([5, 90])], [null, "5.5 s", "5.0 s to 1 min 30 s"]);
});

test("axes have round steps, and no bar is above them", () => {
  assert.deepEqual(steps(754), [0, 200, 400, 600]);
  assert.deepEqual([steps(3), steps(100)], [[0, 1, 2, 3], [0, 20, 40, 60, 80, 100]]);
  assert.deepEqual([754, 100, 1].map(ceiling), [800, 100, 1]);
  assert.deepEqual(tens(25955), [1, 10, 100, 1000, 10000, 100000]);
});

test("a board that is drawn is a text, and back", () => {
  let draft = new Draft(3, 4).block("A", 0, 5).grow("B", 10).grow("B", 9).wall(11, true);
  assert.equal(draft.start, "AA../AA../.BB#");
  assert.equal(draft.block("C", 1, 2), null);
  assert.equal(draft.grow("B", 3).start, draft.start);
  draft = draft.aim("A", 0, 2);
  assert.equal(draft.goalText, "A@1,3");
  assert.equal(draft.move("A", 0, 1).start, ".AA./.AA./.BB#");
  assert.equal(draft.move("A", 1, 0).start, draft.start);
  assert.deepEqual(draft.family, {size: "..../..../...#", pieces: "2x2:1 2x1:1", empty: "5", goal: "2x2@1,3"});
  assert.equal(draft.erase(0).start, "..../..../.BB#");
  assert.equal(draft.erase(0).goalText, "");
  assert.equal(draft.resized(3, 2).start, "AA/AA/..");
  assert.equal(Draft.of(draft.start, draft.goalText).goalText, "A@1,3");
});

test("a board of one line is a square, whose car leaves at the right end of its row", () => {
  const line = "GBBoLoGHIoLMGHIAAMCCCKoMooJKDDEEJFFo";
  assert.equal(Draft.of(line).start, "GBB.L./GHI.LM/GHIAAM/CCCK.M/..JKDD/EEJFF.");
  assert.equal(Draft.exit(line), "A@3,5");
  assert.equal(Draft.exit("AA/B."), "");
  assert.equal(Draft.of("AB/C"), null);
});

test("a known board has its name with its goal and metric alone, however they are written", () => {
  const red = {puzzle: "sliding", start: "ABBC/ABBC/DEEF/DGHF/I..J", options: {goal: "B@4,2"},
    moves: {unit: 116, straight: 90, finger: 81}, source: "M. Gardner, chapter 7: 81"};
  const run = {puzzle: "sliding", start: red.start, parameters: {goal: "****/****/****/*BB*/*BB*", metric: "finger"}};
  const other = parameters => isOf({...run, parameters: {...run.parameters, ...parameters}}, red);
  assert.ok(other({}) && other({goal: "B@4,2"}));
  assert.ok(!other({metric: "unit"}) && !other({goal: "B@4,3"}) && !other({goal: ""}));
  assert.ok(!isOf({...run, start: "ABBC/ABBC/DEEF/DGHF/.I.J"}, red));
  const cars = {puzzle: "sliding", start: "GBBoLoGHIoLMGHIAAMCCCKoMooJKDDEEJFFo", options: {axis: "rows-and-columns"},
    moves: {unit: 81, straight: 51, finger: 51}, source: "M. Fogleman: 51"};
  const parameters = {metric: "straight", axis: "rows-and-columns", goal: "******/******/****AA/******/******/******"};
  assert.ok(isOf({puzzle: "sliding", start: "GBB.L./GHI.LM/GHIAAM/CCCK.M/..JKDD/EEJFF.", parameters}, cars));
});

test("a shortest way leads over the points of a map, one way where its moves do", () => {
  const map = {points: 5, moves: [0, 1, 1, 2, 2, 3, 0, 3], undirected: true};
  assert.deepEqual(new Ways(map).path(1, 3), [1, 0, 3]);
  assert.deepEqual(new Ways({...map, undirected: false}).path(1, 3), [1, 2, 3]);
  assert.equal(new Ways(map).path(0, 4), null);
});

test("a held piece stays on the lines between the places of its moves", () => {
  const rails = railsTo([{x: 10, y: 0, move: "right"}, {x: 10, y: 10, move: "right, down"}]);
  assert.equal(rails.lines.length, 2);
  assert.equal(nearest(rails, 6, 2).node.move, "right");
  assert.equal(nearest(rails, 30, 8).node.move, "right, down");
  assert.equal(nearest(rails, -5, 3).node.move, null);
});
