// This module estimates the cluster's current time from the server's messages. The browser's clock only measures how long
// ago a message was, so it need not show the right time.

const KEPT = 20; // the number of latest messages from which the one with the least delay is chosen

export class Clock {
  #ahead = []; // for each of these messages, the µs by which the cluster's clock was ahead of `ticks`
  #stopped = null; // the time (µs) at which the clock stands still, or null while it runs

  /** `ticks()` → the ms of a monotonic clock. */
  constructor(ticks = () => performance.now()) {
    this.ticks = ticks;
  }

  /** Handles a message that says that the cluster's time was `last` (µs) when it was sent. */
  take(last) {
    this.#ahead = [...this.#ahead, last - this.ticks() * 1000].slice(-KEPT);
    if (this.#stopped !== null) this.#stopped = Math.max(this.#stopped, last);
  }

  /** Handles a time (µs) that may be long ago. It is used only if it is later than the current estimate. */
  atLeast(time) {
    const now = this.now();
    if (now === null || (time > now && this.#stopped === null)) this.take(time);
  }

  /** Starts or stops the clock. It stands still while no worker watches the cluster. */
  run(running) {
    const now = this.now();
    if (now === null || running === (this.#stopped === null)) return;
    this.#stopped = running ? null : now;
    if (running) this.#ahead = [now - this.ticks() * 1000];
  }

  /** Returns the time in µs, or null before the first message. */
  now() {
    if (this.#stopped !== null) return this.#stopped;
    return this.#ahead.length ? Math.round(Math.max(...this.#ahead) + this.ticks() * 1000) : null;
  }
}
