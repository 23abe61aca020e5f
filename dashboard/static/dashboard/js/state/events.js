// This module turns the columns of a window (see payloads/windows.py) into a list of events, sorted by time.

import { actorAt } from "./actors.js";

/** Returns the phase of a lane's object at a time (µs): the text of its bar, such as "Running", or "" if there is no bar. */
export function phaseAt({ bars }, lane, time) {
  let phase = "";
  bars.lane.forEach((row, i) => {
    if (row === lane && bars.start[i] <= time && (bars.end[i] > time || bars.open_end[i])) phase = bars.text[i] || (bars.tone[i] === "ended" ? "ended, not yet deleted" : "");
  });
  return phase;
}

/**
 * Returns the events of the lane with index `only`, or of all lanes if it is null: [{lane, track, time, within, what,
 * number, revision, writer}]. An event is a creation, a mark, or the beginning of a bar without either. `number` is the creation
 * number, or null; `revision` is null if it is not known.
 */
export function eventsOf(payload, only = null) {
  const { births, marks, bars } = payload;
  const found = [];
  const add = (lane, event) => (only === null || lane === only) && found.push({ lane, number: null, revision: null, ...event });
  const listed = new Set();
  births.lane.forEach((lane, i) => {
    add(lane, { track: births.track[i], revision: births.resource_version[i], time: births.time[i], within: births.within[i], what: "created", number: births.number[i], writer: actorAt(payload, births.actor[i]) });
    listed.add(`${lane} ${births.time[i]}`);
  });
  marks.lane.forEach((lane, i) => {
    add(lane, { track: marks.track[i], time: marks.time[i], within: marks.within[i], what: marks.text[i], revision: marks.resource_version[i], writer: actorAt(payload, marks.actor[i]) });
    listed.add(`${lane} ${marks.time[i]}`);
  });
  bars.lane.forEach((lane, i) => {
    if (!bars.open_start[i] && !listed.has(`${lane} ${bars.start[i]}`)) add(lane, { track: bars.track[i], time: bars.start[i], within: bars.start_within[i], what: bars.text[i] || "changed", writer: actorAt(payload, bars.actor[i]) });
  });
  return found.sort((a, b) => a.time - b.time || a.lane - b.lane);
}

/** Returns the rows of the table of a view: {events, earlier}, which are the events in the view, sorted by time, and the objects that existed before it began, by lane. */
export function rowsOf(payload, view) {
  const { bars } = payload;
  const earlier = bars.lane.flatMap((lane, i) =>
    (bars.start[i] < view.start && (bars.end[i] >= view.start || bars.open_end[i])
      ? [{ lane, time: null, within: null, what: bars.open_start[i] ? "existed before the recording began" : "existed before", number: null, revision: null, writer: "", phase: bars.text[i] || "ended" }] : []));
  const events = eventsOf(payload).filter(({ time }) => time >= view.start && time <= view.end);
  return { events: events.map((event) => ({ ...event, phase: phaseAt(payload, event.lane, event.time) })), earlier: earlier.sort((a, b) => a.lane - b.lane) };
}
