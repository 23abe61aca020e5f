// This module numbers incidents. An incident keeps its number while the page is open, also when others come before it in the
// list, so that people can talk about it and follow it.

export class Numbers {
  #numbers = new Map(); // id → number
  #taken = new Set();
  #last = 0;

  /** Gives an incident a number: the wished one if it is free, or else the next one. An incident that has one keeps it. */
  give(id, wished = null) {
    if (this.#numbers.has(id)) return;
    const number = wished !== null && !this.#taken.has(wished) ? wished : this.#last + 1;
    this.#numbers.set(id, number);
    this.#taken.add(number);
    this.#last = Math.max(this.#last, number);
  }

  of(id) {
    return this.#numbers.get(id);
  }
}
