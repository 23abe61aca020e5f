// This module announces the number of new violations, at most once every few seconds.

import { plural } from "../state/amounts.js";

const FIRST = 400, APART = 5_000; // ms before an announcement, and the least ms between two

export class News {
  #count = 0;
  #timer = 0;
  #last = -Infinity;

  constructor(announce) {
    this.announce = announce;
  }

  add(count) {
    this.#count += count;
    if (!this.#count || this.#timer) return;
    this.#timer = setTimeout(() => this.#announceCount(), Math.max(FIRST, this.#last + APART - performance.now()));
  }

  #announceCount() {
    this.#timer = 0;
    this.#last = performance.now();
    this.announce(plural(this.#count, "new violation"));
    this.#count = 0;
  }
}
