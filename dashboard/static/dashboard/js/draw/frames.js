// This module draws at most once in a frame, and knows whether nothing but the view has changed since the last drawing.

const VIEW = new Set(["start", "end"]); // the fields of the store that pans and zooms change

export class Frames {
  #frame = 0;
  #moved = true;

  /** `draw(moved)` draws the page. `moved`: nothing but the view has changed. */
  constructor(draw) {
    this.draw = draw;
  }

  soon(moved = false) {
    this.#moved &&= moved;
    this.#frame ||= requestAnimationFrame(() => this.draw(this.#moved));
  }

  /** Draws soon what depends on these fields of the store. */
  changed(names) {
    const others = names.filter((name) => name !== "offset");
    if (others.length) this.soon(others.every((name) => VIEW.has(name)));
  }

  /** Is to be called when a drawing begins, also one that was not waited for. */
  begun() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#moved = true;
  }
}
