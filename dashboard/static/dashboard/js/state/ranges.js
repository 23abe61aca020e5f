// This module computes the ranges that the view moves to: around a finding or an object, or at the end of a live source.

import { MS, fromIso } from "./time.js";

const ROOM = 0.1; // part of the width that is left free at the end for what comes next

/**
 * Returns a range with space around both ends, and more of it after than before, because the consequences come after. For
 * a finding, it contains all times at which that may have happened.
 */
export function rangeAround({ start, end, proof = [] }) {
  const bounds = (at, name) => proof.filter((each) => each[name] && fromIso(each.time) === at).map((each) => fromIso(each[name]));
  [start, end] = [Math.min(start, ...bounds(start, "earliest")), Math.max(end, ...bounds(end, "latest"))];
  const length = Math.max(end - start, 20 * MS);
  return { start: Math.round(start - 1.9 * length), end: Math.round(end + 5.8 * length) };
}

/** Returns the end of a live source, with space for what comes: the last minute, or the given length. */
export function latest({ last }, width = 60e6) {
  return { start: last - width * (1 - ROOM), end: last + width * ROOM };
}
