// A game: a tree of moves, with all that were tried. As a text it has a move a line, in the words of `path`, and a
// variation in parentheses after the move that it takes the place of.

/**
 * `at` names a position, `spelled` is how its player sees it, `words` led there; `before` and `last` are other steps.
 * @typedef {{at: string, configuration?: string, spelled?: string, words: string, goal: number | null, lost: boolean,
 *   before?: number, last?: number}} Step
 */

export class Record {
  /** @type {Step[]} */ steps;
  /** @type {number} The number of the present step. */ here;
  /** @type {number} */ hints;

  /** @param {{steps: Step[], here?: number, hints?: number}} kept */
  constructor({steps, here = 0, hints = 0}) {
    Object.assign(this, {steps, here, hints});
  }

  get step() { return this.steps[this.here]; }

  /** The numbers of the steps after a step, in the order in which they were made. @param {number} number */
  after(number) {
    return [...this.steps.keys()].filter(each => this.steps[each].before === number);
  }

  /** Goes on by a step, which is new unless it leads where an earlier one did. @param {Step} step */
  add(step) {
    const known = this.after(this.here).find(each => this.steps[each].at === step.at);
    if (known === undefined) this.steps.push({...step, before: this.here});
    this.go(known ?? this.steps.length - 1);
  }

  /** @param {number} number */
  go(number) {
    this.here = number;
    for (let at = number; at; at = this.steps[at].before) this.steps[this.steps[at].before].last = at;
  }

  // The numbers from the first step through the present one to the end, by the variations that were seen last.
  get line() {
    const found = [];
    for (let at = 0; at !== undefined; at = this.steps[at].last) found.push(at);
    return found;
  }

  /** The numbers of the other moves tried in place of a step. @param {number} number */
  beside(number) {
    return number ? this.after(this.steps[number].before).filter(each => each !== number) : [];
  }

  get text() {
    const lines = [];
    const write = from => {
      for (let at = from; at !== undefined;) {
        const [next, ...others] = this.after(at);
        if (next !== undefined) lines.push(this.steps[next].words);
        for (const other of others) {
          lines.push("(", this.steps[other].words);
          write(other);
          lines.push(")");
        }
        at = next;
      }
    };
    write(0);
    return lines.join("\n");
  }
}

/** The moves and parentheses of a text. @param {string} text */
export const movesIn = text => text.split(/\n|([()])/).map(word => word?.trim()).filter(Boolean);
