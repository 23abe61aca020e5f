// The whole source in a strip: how much happened when, ticks for findings, the visible range to move.

import { byId, svg } from "./dom.js";
import { clock, digitsFor } from "./time.js";

const TICKS = { error: "m0-4.5 4.5 4.5-4.5 4.5-4.5-4.5z", warning: "m0-4.2 4.8 7.8h-9.6z", info: "m0-2.6a2.6 2.6 0 1 0 .01 0z" };
const ROWS = { error: 11, warning: 11, info: 21 }; // what is only told lies under what is wrong
const HEIGHT = 64, BASE = 51, TOP = 14;

export class Minimap {
  #overview = null;
  #rectangle = null;

  constructor({ store, onMove }) {
    this.host = byId("minimap");
    this.store = store;
    this.onMove = onMove;
    this.host.addEventListener("pointerdown", (event) => this.#grab(event));
    new ResizeObserver(() => this.#overview && this.draw(this.#overview)).observe(this.host);
  }

  get #edge() {
    return innerWidth < 720 ? 12 : 16;
  }

  #x(time) {
    const { first, last } = this.#overview;
    return this.#edge + ((time - first) / Math.max(1, last - first)) * (this.host.clientWidth - 2 * this.#edge);
  }

  draw(overview) {
    this.#overview = overview;
    const width = this.host.clientWidth;
    const wanted = Math.max(40, Math.floor((width - 2 * this.#edge) / 4)); // bars of three pixels at least
    const share = Math.max(1, Math.ceil(overview.counts.length / wanted));
    const counts = [];
    for (let i = 0; i < overview.counts.length; i += share) counts.push(overview.counts.slice(i, i + share).reduce((a, b) => a + b, 0));
    const most = Math.max(1, ...counts);
    const slice = (width - 2 * this.#edge) / counts.length;
    const bars = counts.map((count, i) => {
      const height = count ? Math.max(1.5, Math.sqrt(count / most) * (BASE - TOP + 4)) : 0; // the root keeps quiet times visible
      return svg("rect", { x: this.#edge + i * slice, y: BASE - height, width: Math.max(1, slice - 1.2), height });
    });
    const ranked = overview.ticks.map((time, i) => ({ time, severity: overview.severities[i] }))
      .sort((a, b) => "iwe".indexOf(a.severity[0]) - "iwe".indexOf(b.severity[0]));
    const ticks = ranked.map(({ time, severity }) => svg("path", { d: TICKS[severity], transform: `translate(${this.#x(time)} ${ROWS[severity]})`, class: `tick ${severity}` }));
    this.#rectangle = svg("rect", { class: "view", y: 6, height: 50, rx: 1.5 });
    this.host.replaceChildren(svg("svg", { width, height: HEIGHT, "aria-hidden": "true" }, svg("g", { class: "counts" }, bars), ticks, this.#rectangle));
    this.move(this.store.view());
  }

  move(view) {
    if (!this.#rectangle) return;
    const width = this.host.clientWidth;
    let left = Math.max(0.5, this.#x(view.start)), right = Math.min(width - 0.5, this.#x(view.end));
    if (right - left < 8) [left, right] = [(left + right) / 2 - 4, (left + right) / 2 + 4];
    this.#rectangle.setAttribute("x", left);
    this.#rectangle.setAttribute("width", right - left);
    const { first, last } = this.#overview;
    const middle = ((view.start + view.end) / 2 - first) / Math.max(1, last - first);
    this.host.setAttribute("aria-valuenow", Math.round(Math.min(1, Math.max(0, middle)) * 100));
    const digits = digitsFor(view.end - view.start);
    this.host.setAttribute("aria-valuetext", `${clock(view.start, digits)} to ${clock(view.end, digits)} UTC`);
  }

  #grab(event) {
    if (event.button !== 0 || !this.#overview) return;
    const { first, last } = this.#overview;
    const timeAt = (x) => first + ((x - this.host.getBoundingClientRect().left - this.#edge) / (this.host.clientWidth - 2 * this.#edge)) * (last - first);
    const view = this.store.view();
    const width = view.end - view.start;
    const at = timeAt(event.clientX);
    const inside = at >= view.start && at <= view.end;
    const hold = inside ? at - view.start : width / 2;
    const move = (pointer) => this.onMove({ start: timeAt(pointer.clientX) - hold, end: timeAt(pointer.clientX) - hold + width });
    this.host.setPointerCapture(event.pointerId);
    if (!inside) move(event);
    const stop = () => this.host.removeEventListener("pointermove", move);
    this.host.addEventListener("pointermove", move);
    this.host.addEventListener("pointerup", stop, { once: true });
    this.host.addEventListener("pointercancel", stop, { once: true });
  }
}
