// This module turns a window's columns into events in the order of time.

/** Returns the text of a lane's bar at a moment, such as "Running", or "" if there is no bar. */
export function phaseAt({ bars }, lane, time) {
  let phase = "";
  bars.lane.forEach((row, i) => {
    if (row === lane && bars.start[i] <= time && (bars.end[i] > time || bars.open_end[i])) phase = bars.text[i] || (bars.tone[i] === "ended" ? "ended, not yet deleted" : "");
  });
  return phase;
}

/** Returns the events of one lane, or of all if `only` is null: [{lane, time, within, what, number, revision}]. */
export function eventsOf({ births, marks, bars }, only = null) {
  const found = [];
  const add = (lane, event) => (only === null || lane === only) && found.push({ lane, number: null, revision: null, ...event });
  const listed = new Set();
  births.lane.forEach((lane, i) => {
    add(lane, { time: births.time[i], within: births.within[i], what: "created", number: births.number[i] });
    listed.add(`${lane} ${births.time[i]}`);
  });
  marks.lane.forEach((lane, i) => {
    add(lane, { time: marks.time[i], within: marks.within[i], what: marks.text[i], revision: marks.resource_version[i] });
    listed.add(`${lane} ${marks.time[i]}`);
  });
  bars.lane.forEach((lane, i) => {
    if (!bars.open_start[i] && !listed.has(`${lane} ${bars.start[i]}`)) add(lane, { time: bars.start[i], within: bars.start_within[i], what: bars.text[i] || "changed" });
  });
  return found.sort((a, b) => a.time - b.time || a.lane - b.lane);
}

/** Returns the rows of a table for `view`: {events in it, in the order of time; standing: what existed before}. */
export function rowsOf(payload, view) {
  const { bars } = payload;
  const standing = bars.lane.flatMap((lane, i) =>
    (bars.start[i] < view.start && (bars.end[i] >= view.start || bars.open_end[i])
      ? [{ lane, time: null, within: null, what: bars.open_start[i] ? "existed before the recording began" : "existed before", number: null, revision: null, phase: bars.text[i] || "ended" }] : []));
  const events = eventsOf(payload).filter(({ time }) => time >= view.start && time <= view.end);
  return { events: events.map((event) => ({ ...event, phase: phaseAt(payload, event.lane, event.time) })), standing: standing.sort((a, b) => a.lane - b.lane) };
}
