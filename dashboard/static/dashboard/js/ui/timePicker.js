// This module runs the menu below the range: a time or a range that is typed, pasted or chosen in a calendar is shown.

import { byId } from "../draw/dom.js";
import { clock, date, fromIso } from "../state/time.js";
import { readTime } from "../state/typedTime.js";
import { zone } from "../state/zone.js";

const AROUND = 60e6; // the most µs that are shown around a moment

const local = (time) => `${date(time)}T${clock(time, 3)}`;
const written = (time, digits = 3) => `${date(time)} ${clock(time, digits)}`;

/** Returns the range to show for what was read ({at} or {start, end}): around a moment it is as wide as the view, if there is one, and at most AROUND. */
export function rangeFor(found, view = { start: 0, end: AROUND }) {
  if (found.at === undefined) return found;
  const half = Math.round(Math.min(view.end - view.start, AROUND) / 2);
  return { start: found.at - half, end: found.at + half };
}

const ends = (found) => (found.at === undefined ? found : { start: found.at, end: found.at });

/** Returns in words how a time that was read lies to what the source has, if it is outside of that; else "". */
function beyond(found, { first, last }) {
  const { start, end } = ends(found);
  return end < first ? `before the first change, which was at ${written(first, 0)}` : start > last ? `after the last change, which was at ${written(last, 0)}` : "";
}

/** Returns what was read in words, such as "2026-11-21 05:57:50.000 UTC", and how the range lies to what the source has. */
export function inWords(found, bounds) {
  const { start, end } = ends(found);
  const digits = [start, end].some((time) => time % 1000) ? 6 : 3;
  const words = found.at === undefined ? `${written(start, digits)} to ${date(end) === date(start) ? clock(end, digits) : written(end, digits)}` : written(start, digits);
  return [`${words} ${zone().labelOf(start, end)}`, beyond(found, bounds)].filter(Boolean).join(": ");
}

export class TimePicker {
  #given = ""; // the text with which the menu opens

  constructor({ store, announce }) {
    Object.assign(this, { store, announce });
    [this.menu, this.text, this.said, this.from, this.until] = ["time", "time-text", "time-said", "time-from", "time-until"].map(byId);
    this.menu.addEventListener("toggle", ({ newState }) => newState === "open" && this.#open());
    this.menu.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#show(this.text.value);
    });
    this.text.addEventListener("input", () => this.#read());
    for (const field of [this.from, this.until]) field.addEventListener("change", () => this.#chosen());
    this.menu.addEventListener("click", ({ target }) => {
      const quick = target.closest("[data-time]")?.dataset.time;
      const steps = target.closest("[data-back]")?.dataset.back;
      if (quick !== undefined) this.#show(quick);
      if (steps) history.go(Number(steps));
    });
    document.addEventListener("zonechange", () => this.menu.matches(":popover-open") && this.#open());
  }

  /** Opens the menu, with what is known of this text. */
  open(text = "") {
    if (!this.store.bounds) return;
    this.#given = text;
    if (this.menu.matches(":popover-open")) this.#open();
    else this.menu.showPopover();
  }

  /** Returns what a text means (see readTime), in the zone that is shown; null without a source. */
  read(text) {
    const { bounds } = this.store;
    if (!bounds) return null;
    const { start, end } = this.store.view();
    return readTime(text, { now: bounds.last, near: (start + end) / 2, ...bounds, zone: zone() });
  }

  /** Returns {found, words} for a text that means a time: what it means, as readTime returns it, and how that reads in words. Returns null for another text. */
  found(text) {
    const found = this.read(text);
    return found && { found, words: inWords(found, this.store.bounds) };
  }

  /** Moves the view to what was read from a text, as a step to which the Back button leads, and marks a moment with a line. The menu says it instead if the source has nothing of that time. */
  go(found, text) {
    const { store } = this;
    if (beyond(found, store.bounds)) return this.open(text);
    if (this.menu.matches(":popover-open")) this.menu.hidePopover();
    store.set({ ...rangeFor(found, store.view()), moment: found.at === undefined ? "" : String(found.at), follow: false }, { push: true });
    this.announce(inWords(found, store.bounds));
  }

  #open() {
    [this.text.value, this.#given] = [this.#given, ""];
    this.#fill(this.store.view());
    this.#read();
    this.text.focus();
  }

  #fill({ start, end }) {
    [this.from.value, this.until.value] = [local(start), local(end)];
  }

  #say(words, wrong = false) {
    this.said.textContent = words;
    this.text.setAttribute("aria-invalid", String(wrong));
  }

  #read() {
    const found = this.read(this.text.value);
    if (found) this.#fill(rangeFor(found, this.store.view()));
    this.#say(found ? inWords(found, this.store.bounds) : "", found !== null && beyond(found, this.store.bounds) !== "");
  }

  /** Writes the range of the calendar into the field, from which it is read. */
  #chosen() {
    const [from, until] = [this.from.value, this.until.value].map((value) => value.replace("T", " "));
    if (!from || !until || Number.isNaN(fromIso(this.from.value))) return;
    this.text.value = `${from} to ${until}`;
    this.#read();
  }

  #show(text) {
    const found = this.read(text);
    if (!found) return this.#say(text.trim() ? "This is not a time that is known here. Try 05:57:50, 2026-11-21 05:57:50Z, -15m, or one to another." : "Type a time, or choose one.", true);
    this.go(found, text);
  }
}
