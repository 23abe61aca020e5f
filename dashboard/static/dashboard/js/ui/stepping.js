// This module steps from event to event of the selected lane, and measures the time between two of them.

import { measured, snapped, spoken } from "../draw/measure.js";
import { farther, nextOf } from "../state/cursor.js";
import { instant } from "../state/time.js";
import { zone } from "../state/zone.js";
import { showTip } from "./tooltip.js";

const SOON = 100; // ms without dragging after which a request is sent

export class Stepping {
  #asked = 0; // the number of requests so far, by which answers to older ones are recognised and ignored
  #soon = 0;
  #turn = Promise.resolve(); // of the keys: each acts on what the one before has found

  /** `ask({start, end})` → the changes of two moments {time (µs), track}. */
  constructor({ store, picture, loader, windows, ask, announce, onLane, onMove, onFailed }) {
    Object.assign(this, { store, picture, loader, windows, ask, announce, onLane, onMove, onFailed });
    this.cursor = null; // the event that was stepped to: {time, within, what, …}
    this.measure = null; // {start, end, answer}: two ends as in measure.js. `end` is null after the first mark, `answer` until the server has answered
  }

  #lane() {
    return this.loader.payload?.lanes.findIndex(({ key }) => key === this.store.lane) ?? -1;
  }

  /** Goes to the next event of the selected lane (`by` 1) or to the previous one (-1). */
  step(by) {
    return (this.#turn = this.#turn.catch(() => {}).then(() => this.#step(by)));
  }

  async #step(by) {
    const { store, loader } = this;
    if (this.#lane() < 0) this.onLane();
    const index = this.#lane();
    if (index < 0) return;
    const lane = loader.payload.lanes[index];
    const { start, end } = store.view();
    const from = this.cursor?.time ?? (by > 0 ? start - 1 : end + 1);
    let event = nextOf(loader.payload, index, from, by);
    try {
      event ??= await farther((question) => this.windows.ask({ ...question, group: store.group }), store.lane, from, by, store.bounds);
    } catch (error) {
      return this.onFailed(error);
    }
    if (!event) return this.announce(by > 0 ? "This lane has no later event." : "This lane has no earlier event.");
    this.goTo(event);
    this.announce([`${lane.kind} ${lane.name}`, event.what, `${instant(event.time, event.within)} ${zone().label(event.time)}`, event.revision && `revision ${event.revision}`, `writer: ${event.writer}`].filter(Boolean).join(", "));
    const hit = this.picture.find(event.time, this.#lane());
    if (hit) showTip(hit.lines, hit.at);
  }

  /** Marks an event (see eventsOf), and moves the view to it if it is not visible. */
  goTo(event) {
    const { store } = this;
    this.cursor = event;
    const view = store.view(), width = view.end - view.start;
    if (event.time < view.start || event.time > view.end) store.set({ start: event.time - width / 2, end: event.time + width / 2 });
    this.onMove(true);
  }

  /** Marks one end at the first press and the other at the second, and removes the measure at the third. */
  mark() {
    return (this.#turn = this.#turn.catch(() => {}).then(() => this.#mark()));
  }

  #mark() {
    if (this.measure && this.measure.end !== null) this.measure = null;
    else if (!this.cursor) return this.announce("First step to an event with the full stop or the comma.");
    else if (this.measure === null) this.measure = { start: this.cursor, end: null, answer: null };
    else this.measure.end = this.cursor;
    const { measure } = this;
    if (measure?.end != null) this.#askAfter(0);
    else this.announce(measure === null ? "Measurement removed." : `Measuring from ${instant(measure.start.time, measure.start.within)} ${zone().label(measure.start.time)}.`);
    this.onMove(false);
  }

  /** Measures the time between two points of a figure ({x, y}, in pixels) while the pointer is dragged. */
  between(name, from, to) {
    const scene = this.picture.scenes[name];
    if (!scene) return;
    this.measure = { start: snapped(scene, from), end: snapped(scene, to), answer: null };
    this.#askAfter(SOON);
    this.onMove(false);
  }

  /** Requests the changes of both ends, when these have not changed for `rest` ms. */
  #askAfter(rest) {
    const { measure } = this;
    const asked = ++this.#asked;
    clearTimeout(this.#soon);
    this.#soon = setTimeout(async () => {
      const { start, end } = measured(measure.start, measure.end);
      try {
        const answer = await this.ask({ start, end });
        if (asked !== this.#asked || this.measure !== measure) return;
        measure.answer = answer;
      } catch (error) {
        return asked === this.#asked && this.onFailed(error);
      }
      this.announce(spoken(measured(start, end, measure.answer)));
      this.onMove(false);
    }, rest);
  }

  /** Removes the marked event and the measure. */
  drop() {
    showTip(null);
    if (this.measure === null && this.cursor === null) return;
    this.measure = this.cursor = null;
    this.onMove(false);
  }
}
