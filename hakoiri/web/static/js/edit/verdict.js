// What a run would find: whether its start can be solved, in how many moves, among how many configurations.

import {post, sleep} from "../lib/api.js";
import {bytes, counted, duration, h, number, put} from "../lib/dom.js";

// The status of a server that judges one board at a time, and the seconds until it is asked again.
const [BUSY, PAUSE] = [503, 1];

export class Verdict {
  // `found` is the last answer, null while there is none.
  constructor() {
    Object.assign(this, {found: null, wanted: null, next: null, busy: false});
    this.element = h("div", {class: "verdict", role: "status"});
  }

  // One question at a time; of those that come meanwhile only the last is asked. `told` is called with null, or the
  // error.
  async ask(wanted, told) {
    this.wanted = this.next = wanted;
    this.#wait("checking …");
    if (this.busy) return;
    this.busy = true;
    while (this.next) {
      const mine = this.next;
      this.next = null;
      const [found, wrong] = await post(["probe"], mine).then(answer => [answer, null], error => [null, error]);
      if (mine !== this.wanted) continue;
      if (wrong?.status === BUSY) {
        this.#wait("The server is checking another board; asking again …");
        await sleep(PAUSE);
        this.next ??= this.wanted;
        continue;
      }
      this.found = found;
      this.element.classList.remove("stale");
      put(this.element, ...(found ? worded(found) : []));
      told(wrong);
    }
    this.busy = false;
  }

  // The answer of the stroke before stays, dimmed.
  #wait(words) {
    this.element.classList.add("stale");
    this.element.querySelector(".checking")?.remove();
    this.element.prepend(h("p", {class: "checking small"}, words));
  }

  clear() {
    this.wanted = this.next = this.found = null;
    this.element.classList.remove("stale");
    put(this.element);
  }
}

function worded(found) {
  const reached = found.exhausted
    ? `${counted(found.configurations, "configuration")}, the farthest ${counted(found.depth, "move")} away`
    : found.expected ? `${counted(found.expected, "configuration")}`
      : `more than ${number(found.configurations)} configurations`;
  return [
    h("p", {}, h("strong", {}, solution(found)), ` · ${reached}`),
    found.goal && h("p", {class: "muted small"}, `Goal: ${found.goal}`),
    ...found.notes.map(note => h("p", {class: "muted small"}, note)),
    !found.exhausted && h("p", {class: found.fits === false ? "reason" : "muted"}, needs(found)),
  ];
}

function solution(found) {
  if (found.goal === null) return "No goal yet";
  if (found.goal_depth === 0) return "The start is a goal";
  if (found.goal_depth !== null) return `Solvable in ${counted(found.goal_depth, "move")}`;
  return found.exhausted ? "No goal can be reached"
    : `No goal within ${counted(found.depth, "move")}; a run looks further`;
}

// What a run for all of them takes, where their number is known.
export function needs(found) {
  const free = `${bytes(found.free)} are free`;
  if (found.expected === null) {
    return "Too many to count at once, and how many is not known: a run may take long. "
      + `It stops when the disk is full (${free}), and can be resumed.`;
  }
  return `All of them take about ${bytes(found.disk)} on disk (${free}), ${bytes(found.memory)} of memory at most, `
    + `and ${duration(found.seconds)} of one core.`;
}
