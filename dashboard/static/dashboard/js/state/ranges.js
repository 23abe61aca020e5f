// The ranges of time that the view moves to: around a finding or an object, or at the end of a live source. Pure.

import { MS, fromIso } from "./time.js";

const ROOM = 0.1; // of the width, left free at the end for what comes next

/**
 * A range in which both ends stand well inside; more of what came after than before, for that is the harm. Of a finding, all
 * the time in which it may lie.
 */
export function rangeAround({ start, end, proof = [] }) {
  const bounds = (at, name) => proof.filter((each) => each[name] && fromIso(each.time) === at).map((each) => fromIso(each[name]));
  [start, end] = [Math.min(start, ...bounds(start, "earliest")), Math.max(end, ...bounds(end, "latest"))];
  const length = Math.max(end - start, 20 * MS);
  return { start: Math.round(start - 1.9 * length), end: Math.round(end + 5.8 * length) };
}

/** The last minute of a source that goes on, with room for what comes; of another length where one is shown. */
export function latest({ last }, width = 60e6) {
  return { start: last - width * (1 - ROOM), end: last + width * ROOM };
}
