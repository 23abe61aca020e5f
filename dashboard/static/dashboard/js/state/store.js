// This module holds the state of the page, and keeps it in the address. It does not use the DOM.

import { timeScale } from "./scale.js";

const numberIn = (parameters, name) => {
  const value = Number.parseInt(parameters.get(name) ?? "", 10);
  return Number.isFinite(value) ? value : null;
};
const list = { read: (text) => (text ?? "").split(",").filter(Boolean), write: (values) => values.join(",") };
const text = { read: (given) => given ?? "", write: (value) => value };
const flag = { read: (given) => given === "1", write: (value) => (value ? "1" : "") };
const oneOf = (first, ...others) => ({
  read: (given) => (others.includes(given) ? given : first),
  write: (value) => (value === first ? "" : value),
});

// These are the parameters of the address besides the range, in their order.
const FIELDS = {
  axis: oneOf("time", "order"), group: oneOf("owner", "kind", "namespace"),
  kinds: list, namespace: text, name: text, rule: text, severity: text, noise: flag, active: flag,
  open: list, closed: list, pins: list, focus: text, lane: text, finding: text, arrows: list, table: flag, follow: flag, at: text, about: text,
};
export const FILTERS = ["kinds", "namespace", "name", "rule", "severity", "noise", "active"];
const NONE = Object.fromEntries(FILTERS.map((name) => [name, FIELDS[name].read(null)]));
const MOST_ARROWS = 100;

export class Store {
  #listeners = [];

  /** `address` has `read()` → "?…" and `write(search, push)`. */
  constructor(address) {
    this.address = address;
    this.bounds = null; // {first, last} of the whole source
    this.anchor = 0.5; // the point of the view (0 to 1) around which keys zoom
    this.scale = timeScale(0); // the scale by which the view moves; it is another one in the order of creation
    this.read();
  }

  read() {
    const parameters = new URLSearchParams(this.address.read());
    this.start = numberIn(parameters, "start");
    this.end = numberIn(parameters, "end");
    if (this.start === null || this.end === null || this.end <= this.start) this.start = this.end = null;
    for (const [name, { read }] of Object.entries(FIELDS)) this[name] = read(parameters.get(name));
    this.offset = Math.max(0, numberIn(parameters, "offset") ?? 0);
  }

  search() {
    const parameters = new URLSearchParams();
    if (this.start !== null) {
      parameters.set("start", this.start);
      parameters.set("end", this.end);
    }
    for (const [name, { write }] of Object.entries(FIELDS)) {
      const written = write(this[name]);
      if (written) parameters.set(name, written);
    }
    if (this.offset) parameters.set("offset", this.offset);
    return parameters.size ? `?${parameters.toString().replaceAll("%2C", ",").replaceAll("%2F", "/")}` : "";
  }

  subscribe(listener) {
    this.#listeners.push(listener);
  }

  /** Applies the changes, writes the address (`push`: as a step that the Back button undoes) and notifies subscribers. */
  set(changes, { push = false } = {}) {
    Object.assign(this, changes);
    if (this.start !== null) [this.start, this.end] = this.#inBounds(Math.round(this.start), Math.round(this.end));
    this.address.write(this.search(), push);
    for (const listener of this.#listeners) listener(Object.keys(changes));
  }

  /** Adds a value to a list of the address, or removes it. */
  toggle(name, value, changes = {}) {
    const values = this[name].includes(value) ? this[name].filter((other) => other !== value) : [...this[name], value];
    this.set({ [name]: name === "arrows" ? values.slice(-MOST_ARROWS) : values, ...changes }, { push: true });
  }

  /** Returns the names of the active filters. */
  filtered() {
    return FILTERS.filter((name) => String(this[name]) !== String(NONE[name]));
  }

  /** Removes one filter, or all. */
  clear(name = null) {
    this.set({ ...(name ? { [name]: NONE[name] } : NONE), offset: 0 }, { push: true });
  }

  /** Returns the visible range, or the whole source if no range was chosen. */
  view() {
    return this.start === null ? this.whole() : { start: this.start, end: this.end };
  }

  /** Returns the range of the whole source, with a little space at both ends. */
  whole() {
    const { first, last } = this.bounds;
    const room = Math.max(Math.round((last - first) * 0.02), 1000);
    return { start: Math.max(0, first - room), end: last + room };
  }

  pan(share) {
    const [left, right] = this.#across();
    const by = (right - left) * share;
    this.#show(left + by, right + by);
  }

  /** `factor` < 1 zooms in; `at` (0 to 1) is the point of the view that stays where it is. */
  zoom(factor, at = this.anchor) {
    const [left, right] = this.#across();
    const fixed = left + (right - left) * at;
    this.#show(fixed - (fixed - left) * factor, fixed + (right - fixed) * factor);
  }

  #across() {
    const { start, end } = this.view();
    return [this.scale.to(start), this.scale.to(end)];
  }

  #show(left, right) {
    if (this.axis === "order") [left, right] = this.#inOrder(left, right);
    this.set({ start: this.scale.from(left), end: this.scale.from(right) });
  }

  /** Keeps the view inside the scale: in the order of creation, time without events has no width. */
  #inOrder(left, right) {
    const beyond = Math.min(1, (right - left) / 2);
    const least = this.scale.to(this.bounds.first) - beyond, most = this.scale.to(this.bounds.last) + beyond;
    const width = Math.min(right - left, most - least);
    const from = Math.min(Math.max(left, least), most - width);
    return [from, from + width];
  }

  #inBounds(start, end) {
    if (this.axis === "order") return [start, Math.max(end, start + 50)];
    const { first, last } = this.bounds ?? { first: start, last: end };
    const most = Math.max((last - first) * 1.1, 2000);
    const width = Math.min(Math.max(end - start, 50), most);
    if (width !== end - start) start = Math.round((start + end - width) / 2);
    const room = Math.round(Math.min(width / 2, Math.max(most - width, (most - (last - first)) / 2))); // the whole source stays in the middle
    start = Math.min(Math.max(start, first - room), last - width + room);
    return [Math.round(start), Math.round(start + width)];
  }
}
