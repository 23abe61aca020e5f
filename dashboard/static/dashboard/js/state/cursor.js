// This module finds the next event of a lane, also outside of the loaded window.

import { eventsOf } from "./events.js";

/** Returns the next event of a lane after `time` (µs), or the previous one before it if `by` is -1; null if there is none. */
export function nextOf(payload, lane, time, by) {
  const events = eventsOf(payload, lane);
  return (by > 0 ? events.find((event) => event.time > time) : events.findLast((event) => event.time < time)) ?? null;
}

/**
 * Finds the next or previous event of the lane with this key in the whole source. `ask(question)` → a window. Marks in such a
 * window may be merged, with the time of the first of several events, so before an event the interval is searched twice.
 */
export async function farther(ask, key, time, by, { first, last }) {
  const look = async (start, end) => {
    const payload = await ask({ start, end, pins: [key], limit: 1 });
    const lane = payload.lanes.findIndex((one) => one.key === key);
    return lane < 0 ? null : nextOf(payload, lane, time, by);
  };
  if (by > 0) return time >= last ? null : look(time, last);
  if (time <= first) return null;
  const rough = await look(first, time);
  return rough === null ? null : ((await look(rough.time, time)) ?? rough);
}
