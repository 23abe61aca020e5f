// A window's columns as events in the order of time. Pure.

/** What a lane's bars say of a moment: "Running"; "" where it is not there. */
export function phaseAt({ bars }, lane, time) {
  let phase = "";
  bars.lane.forEach((row, i) => {
    if (row === lane && bars.start[i] <= time && (bars.end[i] > time || bars.open_end[i])) phase = bars.text[i] || (bars.tone[i] === "ended" ? "ended, not yet deleted" : "");
  });
  return phase;
}

/** Of one lane, or of all where `only` is null: [{lane, time, within, what, number, revision}]. */
export function eventsOf({ births, marks, bars }, only = null) {
  const found = [];
  const add = (lane, event) => (only === null || lane === only) && found.push({ lane, number: null, revision: null, ...event });
  const told = new Set();
  births.lane.forEach((lane, i) => {
    add(lane, { time: births.time[i], within: births.within[i], what: "created", number: births.number[i] });
    told.add(`${lane} ${births.time[i]}`);
  });
  marks.lane.forEach((lane, i) => {
    add(lane, { time: marks.time[i], within: marks.within[i], what: marks.text[i], revision: marks.resource_version[i] });
    told.add(`${lane} ${marks.time[i]}`);
  });
  bars.lane.forEach((lane, i) => {
    if (!bars.open_start[i] && !told.has(`${lane} ${bars.start[i]}`)) add(lane, { time: bars.start[i], within: bars.start_within[i], what: bars.text[i] || "changed" });
  });
  return found.sort((a, b) => a.time - b.time || a.lane - b.lane);
}

/** The rows of a table of what `view` shows: {events in it, in the order of time; standing: what was there before}. */
export function rowsOf(payload, view) {
  const { bars } = payload;
  const standing = bars.lane.flatMap((lane, i) =>
    (bars.start[i] < view.start && (bars.end[i] >= view.start || bars.open_end[i])
      ? [{ lane, time: null, within: null, what: bars.open_start[i] ? "existed before the recording began" : "existed before", number: null, revision: null, phase: bars.text[i] || "ended" }] : []));
  const events = eventsOf(payload).filter(({ time }) => time >= view.start && time <= view.end);
  return { events: events.map((event) => ({ ...event, phase: phaseAt(payload, event.lane, event.time) })), standing: standing.sort((a, b) => a.lane - b.lane) };
}
