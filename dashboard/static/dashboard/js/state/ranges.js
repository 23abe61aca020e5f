// This module computes the ranges that the view moves to: around a finding, or at the end of a live source.

const ROOM = 0.1; // the part of the view that stays free after the end of what was observed

/**
 * Returns the range in which an axis shows a finding, as the server says it; one of the last release does not say it. Where it
 * would reach beyond `last`, the end of what was observed (µs), it begins earlier instead: what led to a finding is shown, and
 * no time that has not come.
 */
export function rangeOf({ ranges, start, end }, axis = "time", last = Infinity) {
  const [from, until] = ranges?.[axis] ?? [start, end];
  const by = axis === "time" ? Math.max(0, until - last - Math.round(ROOM * (until - from))) : 0;
  return { start: from - by, end: until - by };
}

/** Returns the range in which an axis shows an incident, with a finding of it. */
export function rangeAround(group, incident, axis = "time") {
  const own = rangeOf(group, "order"), whole = rangeOf(incident, axis);
  return { start: Math.min(own.start, whole.start), end: Math.max(own.end, whole.end) };
}

/** Returns whether something with a start and an end (µs) overlaps a range. */
export const inRange = ({ start, end }, range) => start <= range.end && end >= range.start;

/** Returns what has all occurrences of an incident, each with a start and an end (µs): its symptoms if the list has them all, else itself. */
const partsOf = (incident) => (incident.symptoms?.length && incident.symptoms.length === incident.symptoms_total ? incident.symptoms : [incident]);

/** Returns whether an incident may have an occurrence in a range. */
export const mayHappenIn = (incident, range) => partsOf(incident).some((part) => inRange(part, range));

/** Returns whether it is certain, from what the list knows, that an incident has an occurrence in a range. */
export const happensIn = (incident, range) =>
  partsOf(incident).some((part) => inRange(part, range) && (part.start >= range.start || part.end <= range.end)) || incident.times.some((time) => time >= range.start && time <= range.end);

/** Returns the range of this width (µs) at the end of a live source, with some space after the end. */
export function latest({ last }, width) {
  return { start: last - width * (1 - ROOM), end: last + width * ROOM };
}
