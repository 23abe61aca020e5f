// This module divides the window of a live source into its moving edge, which new batches of changes extend, and the fixed
// part, which does not change. It uses neither the DOM nor Plotly.
//
// The edge consists of tails. A tail is the end of one track: {lane, floor (the time at which it begins), bars [{start, end
// (null while it goes on), text, tone, within (of start and end), actor, unknown}], marks, births}. When a window is loaded, its
// tails are the bars without an end.

import { NOISE } from "../state/window.js";

const RING = 300; // how many deltas are kept, to be applied to a window that the server read before them

const emptied = (columns) => Object.fromEntries(Object.keys(columns).map((name) => [name, []]));
const picked = (columns, wanted) => Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, wanted.map((i) => column[i])]));
const joined = (one, other) => Object.fromEntries(Object.entries(one).map(([name, column]) => [name, [...column, ...other[name]]]));

export class Edge {
  #ring = [];
  #tails = new Map(); // track → its tail
  #laneOf = new Map(); // track → index of its lane
  #byKey = new Map(); // key of a lane → index
  #fixed = null;
  #actors = new Map(); // actor → its index in the window, to which actors of deltas are added

  payload = null; // the window as it was loaded
  attached = false; // whether the window reaches the end of the source, so that its edge moves

  /** `numberOf(group, track, number)` → the creation number to show of a track that the server gives this number. */
  constructor(numberOf = (group, track, number) => number) {
    this.numberOf = numberOf;
  }

  /** Begins with a window that was just loaded, and applies the deltas that are newer. */
  take(payload) {
    this.attached = payload.end >= payload.last;
    this.#begin(payload);
    const later = this.#ring.filter(({ sequence }) => sequence > payload.sequence);
    for (const delta of later) this.#apply(delta);
  }

  #begin(payload) {
    const { bars, births, lanes } = payload;
    this.payload = payload;
    this.#tails.clear();
    this.#laneOf = new Map([...births.track.map((track, i) => [track, births.lane[i]]), ...bars.track.map((track, i) => [track, bars.lane[i]])]);
    this.#byKey = new Map(lanes.map(({ key }, lane) => [key, lane]));
    const rest = [];
    bars.lane.forEach((lane, i) => {
      if (!this.attached || !bars.open_end[i]) return rest.push(i);
      const bar = { start: bars.start[i], end: null, text: bars.text[i], tone: bars.tone[i], within: [bars.start_within[i], null], actor: payload.actors[bars.actor[i]], unknown: bars.open_start[i] };
      this.#tails.set(bars.track[i], { lane, floor: bar.start, bars: [bar], marks: [], births: [] });
    });
    this.#actors = new Map(payload.actors.map((actor, index) => [actor, index]));
    this.#fixed = { ...payload, bars: picked(bars, rest), shades: payload.shades };
  }

  /** Applies a delta. Returns {unknown, stale}: its tails of tracks whose lanes are not loaded, and whether the fixed part has changed. */
  add(delta) {
    this.#ring = [...this.#ring, delta].slice(-RING);
    return this.#apply(delta);
  }

  #apply({ tracks }) {
    const result = { unknown: [], stale: false };
    if (!this.payload) return result;
    for (const each of tracks) {
      const lane = this.#laneOf.get(each.track) ?? this.#byKey.get(each.lane);
      if (lane === undefined) result.unknown.push(each);
      else if (this.attached) {
        result.stale = this.#follow(lane, each) || result.stale;
        this.payload.lanes[lane].quiet &&= this.payload.lanes[lane].furniture; // it has a change in view now
      }
    }
    return result;
  }

  #follow(lane, { track, number, since, born, bars, marks }) {
    const fresh = !this.#laneOf.has(track);
    const tail = this.#tails.get(track) ?? { lane, floor: fresh ? -Infinity : Infinity, bars: [], marks: [], births: [] };
    this.#laneOf.set(track, lane);
    this.#tails.set(track, tail);
    let stale = fresh;
    if (since !== null) {
      const [first, ...others] = bars;
      const goesOn = first?.[0] === null;
      const from = goesOn ? (first[1] ?? Infinity) : Math.max(since, tail.floor);
      stale ||= !goesOn && since < tail.floor && !bars.some(([start]) => start === tail.floor); // the end of a fixed bar has changed
      tail.bars = tail.bars.filter(({ start }) => start < from);
      const last = tail.bars.at(-1);
      if (goesOn && last) {
        [last.end, last.text, last.tone] = first.slice(1, 4);
        last.within[1] = first[5];
      } else if (last && (last.end ?? Infinity) > from) [last.end, last.within[1]] = [from, (goesOn ? others : bars)[0]?.[4] ?? null];
      stale ||= goesOn && !last;
      const further = (goesOn ? others : bars).filter(([start]) => start >= tail.floor);
      tail.bars.push(...further.map(([start, end, text, tone, from, until, actor], i) => ({ start, end, text, tone, within: [from, until], actor, unknown: fresh && born === null && i === 0 })));
    }
    const known = new Set(tail.marks.map(([time, mark]) => `${time} ${mark}`));
    tail.marks.push(...marks.filter(([time, mark]) => time >= tail.floor && !known.has(`${time} ${mark}`)));
    if (born !== null && fresh) tail.births.push([born, this.#numberOf(this.payload.lanes[lane], track, number), bars[0]?.[4] ?? null, bars[0]?.[6] ?? ""]);
    return stale;
  }

  /** Returns the columns of the moving edge at the time `now` (µs). */
  moving(now) {
    const { payload } = this;
    const bars = emptied(payload.bars), marks = emptied(payload.marks), births = emptied(payload.births);
    for (const [track, tail] of this.#tails) {
      for (const { start, end, text, tone, within: [start_within, end_within], actor, unknown } of tail.bars) {
        const row = { lane: tail.lane, start, end: end ?? Math.max(now, start), text, tone, open_start: unknown, open_end: end === null, start_within, end_within, actor: this.#actor(actor), track };
        for (const [name, value] of Object.entries(row)) bars[name].push(value);
      }
      for (const [time, mark, text, revision, within, actor] of tail.marks) {
        const row = { lane: tail.lane, time, mark, text, resource_version: revision, within, actor: this.#actor(actor), track };
        for (const [name, value] of Object.entries(row)) marks[name].push(value);
      }
      for (const [time, number, within, actor] of tail.births) {
        const row = { lane: tail.lane, time, number, resource_version: null, within, actor: this.#actor(actor), track };
        for (const [name, value] of Object.entries(row)) births[name].push(value);
      }
    }
    const none = Object.fromEntries(["strips", "holes", "arrows", "dots", "gaps"].map((name) => [name, emptied(payload[name])]));
    return { ...payload, ...none, bars, marks, births };
  }

  /** Returns the whole window at the time `now` (µs), and continues with it: later deltas are applied to it. */
  whole(now) {
    const moving = this.moving(now);
    const marks = new Set(this.payload.marks.lane.map((_, i) => this.#markAt(this.payload.marks, i)));
    const further = moving.marks.lane.map((_, i) => i).filter((i) => !marks.has(this.#markAt(moving.marks, i)));
    const payload = {
      ...this.payload, bars: joined(this.#fixed.bars, moving.bars), births: joined(this.payload.births, moving.births),
      marks: joined(this.payload.marks, picked(moving.marks, further)), end: this.attached ? Math.max(this.payload.end, now) : this.payload.end,
    };
    this.#begin(payload);
    return payload;
  }

  /** Returns empty columns, for a window whose edge does not move. */
  still(payload) {
    const none = Object.fromEntries(["bars", "births", "marks", "strips", "holes", "arrows", "dots", "gaps"].map((name) => [name, emptied(payload[name])]));
    return { ...payload, ...none };
  }

  #numberOf({ group, family }, track, number) {
    return NOISE.includes(family) ? number : this.numberOf(group, track, number);
  }

  /** Returns the index of an actor in the window, and adds it if it is new. */
  #actor(actor) {
    if (!this.#actors.has(actor)) this.#actors.set(actor, this.payload.actors.push(actor) - 1);
    return this.#actors.get(actor);
  }

  #markAt({ track, time, mark }, i) {
    return `${track[i]} ${time[i]} ${mark[i]}`;
  }

  get fixed() {
    return this.#fixed;
  }
}
