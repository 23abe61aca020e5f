// This module draws the minimap of the whole source: the number of changes over time, ticks for findings, the times that
// retention has deleted, and the visible range, which can be moved and resized.

import { byId, svg } from "../draw/dom.js";
import { DOTS } from "../state/shapes.js";
import { clock, digitsFor } from "../state/time.js";
import { zone } from "../state/zone.js";

const ROWS = { error: 11, warning: 11, info: 21 }; // info is below errors and warnings
const HEIGHT = 64, BASE = 51, TOP = 14;
const LEAST = 8; // the least width of the visible range in px
const CLICK = 4; // the most px that the pointer may move during a click
const STEP = 0.1; // the part of the view's width by which an arrow key moves or resizes it

export class Minimap {
  #overview = null;
  #width = 0; // px

  constructor({ store, onMove }) {
    this.host = byId("minimap");
    this.picture = byId("minimap-picture");
    this.window = byId("minimap-window");
    this.ends = { start: byId("minimap-start"), end: byId("minimap-end") };
    this.store = store;
    this.onMove = onMove;
    this.host.addEventListener("pointerdown", (event) => this.#grab(event));
    for (const thumb of [this.window, ...Object.values(this.ends)]) thumb.addEventListener("keydown", (event) => this.#keyed(event));
    new ResizeObserver(() => this.#overview && this.draw(this.#overview)).observe(this.host);
  }

  get #edge() {
    return this.#width < 720 ? 12 : 16;
  }

  #x(time) {
    const { first, last } = this.#overview;
    return this.#edge + ((time - first) / Math.max(1, last - first)) * (this.#width - 2 * this.#edge);
  }

  #time(clientX) {
    const { first, last } = this.#overview;
    const x = clientX - this.host.getBoundingClientRect().left;
    return first + ((x - this.#edge) / (this.#width - 2 * this.#edge)) * (last - first);
  }

  /** Extends the minimap of a live source to `last` (µs), and adds findings ({start, severity}) that are newer than the overview. */
  extend(last, findings) {
    const overview = this.#overview;
    if (!overview || (last <= overview.last && !findings.length)) return;
    const ticks = [...overview.ticks, ...findings.map(({ start }) => start)];
    this.draw({ ...overview, until: overview.until ?? overview.last, last: Math.max(last, overview.last), ticks, severities: [...overview.severities, ...findings.map(({ severity }) => severity)] });
  }

  /** Draws an overview (see OverviewPayload). `overview.until` is the end of its counts, if that is before the end of the source. */
  draw(overview) {
    this.#overview = overview;
    const width = (this.#width = this.host.clientWidth); // it is measured here only, because that makes the browser compute the layout
    const wanted = Math.max(40, Math.floor((width - 2 * this.#edge) / 4)); // bars are at least three pixels wide
    const share = Math.max(1, Math.ceil(overview.counts.length / wanted));
    const counts = [];
    for (let i = 0; i < overview.counts.length; i += share) counts.push(overview.counts.slice(i, i + share).reduce((a, b) => a + b, 0));
    const most = Math.max(1, ...counts);
    const slice = (this.#x(overview.until ?? overview.last) - this.#edge) / counts.length;
    const bars = counts.map((count, i) => {
      const height = count ? Math.max(1.5, Math.sqrt(count / most) * (BASE - TOP + 4)) : 0; // with the square root, quiet times stay visible
      return svg("rect", { x: this.#edge + i * slice, y: BASE - height, width: Math.max(1, slice - 1.2), height });
    });
    const freed = (overview.freed ?? []).map(([since, until]) => {
      const left = Math.max(0, this.#x(since)), right = Math.min(width, this.#x(until));
      return svg("rect", { fill: "url(#unknown)", x: left, y: TOP - 6, width: Math.max(1, right - left), height: BASE - TOP + 6 }, svg("title", {}, "Changes of this time were deleted by retention."));
    });
    const ranked = overview.ticks.map((time, i) => ({ time, severity: overview.severities[i] }))
      .sort((a, b) => "iwe".indexOf(a.severity[0]) - "iwe".indexOf(b.severity[0]));
    const apart = new Map(ranked.map(({ time, severity }) => [`${severity} ${Math.round(2 * this.#x(time))}`, { time, severity }])); // one for each half pixel
    const ticks = [...apart.values()].map(({ time, severity }) => svg("path", { d: DOTS[severity], transform: `translate(${this.#x(time)} ${ROWS[severity]})`, class: `tick ${severity}` }));
    this.picture.replaceChildren(svg("svg", { width, height: HEIGHT, "aria-hidden": "true" }, svg("g", { class: "counts" }, bars), freed, ticks));
    this.move(this.store.view());
  }

  /** Shows the visible range. */
  move(view) {
    if (!this.#overview) return;
    const width = this.#width;
    let left = Math.max(0, this.#x(view.start)), right = Math.min(width, this.#x(view.end));
    if (right - left < LEAST) [left, right] = [(left + right - LEAST) / 2, (left + right + LEAST) / 2];
    this.window.style.left = `${left}px`;
    this.window.style.width = `${right - left}px`;
    this.ends.start.style.left = `${Math.max(8, left)}px`; // the ends stay on the page
    this.ends.end.style.left = `${Math.min(width - 8, right)}px`;
    this.host.classList.add("drawn");
    const digits = digitsFor(view.end - view.start);
    const say = (thumb, time, words) => {
      const { first, last } = this.#overview;
      thumb.setAttribute("aria-valuenow", Math.round(Math.min(1, Math.max(0, (time - first) / Math.max(1, last - first))) * 100));
      thumb.setAttribute("aria-valuetext", `${words} ${zone().labelOf(view.start, view.end)}`);
    };
    say(this.window, (view.start + view.end) / 2, `${clock(view.start, digits)} to ${clock(view.end, digits)}`);
    for (const [end, thumb] of Object.entries(this.ends)) say(thumb, view[end], clock(view[end], digits));
  }

  /** Moves one end or the whole window, or draws a new window outside of it. A click moves the window to the pointer. */
  #grab(event) {
    if (event.button !== 0 || !this.#overview) return;
    const view = this.store.view();
    const width = view.end - view.start;
    const began = event.clientX, at = this.#time(began);
    const end = event.target.closest("[data-end]")?.dataset.end;
    const inside = event.target === this.window;
    const ways = {
      pull: (time) => this.#stretch(end, time),
      move: (time) => this.onMove({ start: view.start + time - at, end: view.end + time - at }),
      draw: (time) => this.onMove({ start: Math.min(at, time), end: Math.max(at, time) }),
    };
    const way = ways[end ? "pull" : inside ? "move" : "draw"];
    let moved = false;
    const move = (pointer) => {
      moved ||= Math.abs(pointer.clientX - began) > CLICK;
      if (moved) way(this.#time(pointer.clientX));
    };
    const stop = (pointer) => {
      this.host.removeEventListener("pointermove", move);
      this.host.removeEventListener("pointerup", stop);
      this.host.removeEventListener("pointercancel", stop);
      if (!moved && !inside && pointer.type === "pointerup") this.onMove({ start: at - width / 2, end: at + width / 2 });
    };
    this.host.setPointerCapture(event.pointerId);
    this.host.addEventListener("pointermove", move);
    this.host.addEventListener("pointerup", stop);
    this.host.addEventListener("pointercancel", stop);
  }

  #stretch(end, time) {
    const { start, end: until } = this.store.view();
    this.onMove(end === "start" ? { start: Math.min(time, until - 50), end: until } : { start, end: Math.max(time, start + 50) });
  }

  #keyed(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1 }[event.key];
    if (!by || !this.#overview || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const end = event.target.dataset.end;
    const view = this.store.view();
    if (end) this.#stretch(end, view[end] + by * STEP * (view.end - view.start));
    else this.store.pan(by * STEP);
  }
}
