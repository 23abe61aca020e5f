// What the page shows, and the address that says it. Free of the DOM: the address is handed in.

const numberIn = (parameters, name) => {
  const value = Number.parseInt(parameters.get(name) ?? "", 10);
  return Number.isFinite(value) ? value : null;
};

export class Store {
  #listeners = [];

  /** `address` has `read()` → "?…" and `write(search, push)`. */
  constructor(address) {
    this.address = address;
    this.bounds = null; // {first, last} of the whole source
    this.closed = new Set(); // keys of collapsed groups
    this.read();
  }

  read() {
    const parameters = new URLSearchParams(this.address.read());
    this.start = numberIn(parameters, "start");
    this.end = numberIn(parameters, "end");
    if (this.start === null || this.end === null || this.end <= this.start) this.start = this.end = null;
    this.kinds = (parameters.get("kinds") ?? "").split(",").filter(Boolean);
    this.namespace = parameters.get("namespace") ?? "";
    this.finding = parameters.get("finding") ?? "";
    this.offset = Math.max(0, numberIn(parameters, "offset") ?? 0);
  }

  search() {
    const parameters = new URLSearchParams();
    if (this.start !== null) {
      parameters.set("start", this.start);
      parameters.set("end", this.end);
    }
    if (this.kinds.length) parameters.set("kinds", this.kinds.join(","));
    for (const name of ["namespace", "finding", "offset"]) if (this[name]) parameters.set(name, this[name]);
    return parameters.size ? `?${parameters.toString().replaceAll("%2C", ",")}` : "";
  }

  subscribe(listener) {
    this.#listeners.push(listener);
  }

  /** Takes the changes over, writes the address (`push`: as a step the Back button undoes) and tells who listens. */
  set(changes, { push = false } = {}) {
    Object.assign(this, changes);
    if (this.start !== null) [this.start, this.end] = this.#inBounds(Math.round(this.start), Math.round(this.end));
    this.address.write(this.search(), push);
    for (const listener of this.#listeners) listener(Object.keys(changes));
  }

  /** The visible range; the whole source with a little room when none was asked for. */
  view() {
    if (this.start !== null) return { start: this.start, end: this.end };
    const { first, last } = this.bounds;
    const room = Math.max(Math.round((last - first) * 0.02), 1000);
    return { start: first - room, end: last + room };
  }

  pan(share) {
    const { start, end } = this.view();
    const by = (end - start) * share;
    this.set({ start: start + by, end: end + by });
  }

  /** `factor` < 1 zooms in; `at` (0 to 1) is the part of the view that stays where it is. */
  zoom(factor, at = 0.5) {
    const { start, end } = this.view();
    const fixed = start + (end - start) * at;
    this.set({ start: fixed - (fixed - start) * factor, end: fixed + (end - fixed) * factor });
  }

  #inBounds(start, end) {
    const { first, last } = this.bounds ?? { first: start, last: end };
    const most = Math.max((last - first) * 1.1, 2000);
    const width = Math.min(Math.max(end - start, 50), most);
    if (width !== end - start) start = Math.round((start + end - width) / 2);
    const room = Math.round(Math.min(width / 2, Math.max(most - width, (most - (last - first)) / 2))); // all of it stays in the middle
    start = Math.min(Math.max(start, first - room), last - width + room);
    return [Math.round(start), Math.round(start + width)];
  }
}
