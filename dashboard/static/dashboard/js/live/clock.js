// What time it is in the cluster, as far as the server has told. The browser's own clock only measures how long ago that
// was, so it may show anything. Pure.

const KEPT = 20; // of the last answers, the one that was least late counts

export class Clock {
  #ahead = []; // µs that the cluster's clock is ahead of `ticks`
  #stopped = null;

  /** `ticks()` → ms of a clock that never jumps. */
  constructor(ticks = () => performance.now()) {
    this.ticks = ticks;
  }

  /** The cluster's time had come to `last` (µs) when this was told. */
  take(last) {
    this.#ahead = [...this.#ahead, last - this.ticks() * 1000].slice(-KEPT);
    if (this.#stopped !== null) this.#stopped = Math.max(this.#stopped, last);
  }

  /** The same, of something that may be long ago: it counts where it is later than what is known. */
  atLeast(time) {
    const now = this.now();
    if (now === null || (time > now && this.#stopped === null)) this.take(time);
  }

  /** Whether time goes on between what is told; it does not while nobody collects. */
  run(running) {
    const now = this.now();
    if (now === null || running === (this.#stopped === null)) return;
    this.#stopped = running ? null : now;
    if (running) this.#ahead = [now - this.ticks() * 1000];
  }

  /** µs; null while nothing was told. */
  now() {
    if (this.#stopped !== null) return this.#stopped;
    return this.#ahead.length ? Math.round(Math.max(...this.#ahead) + this.ticks() * 1000) : null;
  }
}
