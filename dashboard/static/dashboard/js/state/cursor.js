// From event to event of one lane, also past what is loaded.

import { eventsOf } from "./events.js";

/** The next event of a lane behind `time` (before it where `by` is -1), or null. */
export function nextOf(payload, lane, time, by) {
  const events = eventsOf(payload, lane);
  return (by > 0 ? events.find((event) => event.time > time) : events.findLast((event) => event.time < time)) ?? null;
}

/**
 * The same out of the whole source. `ask(question)` → a window; times that were merged there are those of the first of
 * several, so going back it looks again at what lies between.
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
