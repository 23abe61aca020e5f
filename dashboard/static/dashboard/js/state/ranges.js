// This module computes the ranges that the view moves to: around a finding or an object, or at the end of a live source.

import { MS, fromIso } from "./time.js";

const ROOM = 0.1; // the part of the view that stays free after the end of a live source

/**
 * Returns the range to show for a finding or an object (times in µs). It has space on both sides, and more after the end,
 * where the consequences are. For a finding, it contains all times at which its first and last events may have happened.
 */
export function rangeAround({ start, end, proof = [] }) {
  const bounds = (at, name) => proof.filter((each) => each[name] && fromIso(each.time) === at).map((each) => fromIso(each[name]));
  [start, end] = [Math.min(start, ...bounds(start, "earliest")), Math.max(end, ...bounds(end, "latest"))];
  const length = Math.max(end - start, 20 * MS);
  return { start: Math.round(start - 1.9 * length), end: Math.round(end + 5.8 * length) };
}

/** Returns whether something with a start and an end (µs) overlaps a range. */
export const inRange = ({ start, end }, range) => start <= range.end && end >= range.start;

/** Returns whether it is certain, from what the list knows, that an incident has an occurrence in a range that it overlaps. */
export const happensIn = ({ start, end, times }, range) =>
  start >= range.start || end <= range.end || times.some((time) => time >= range.start && time <= range.end);

/** Returns the range to show a finding in on the axis of creation order, where only events take room. */
export function closeAround({ start, end }) {
  const length = Math.max(end - start, 20 * MS);
  return { start: Math.round(start - length / 2), end: Math.round(end + length / 2) };
}

/** Returns the range of this width (µs, by default a minute) at the end of a live source, with some space after the end. */
export function latest({ last }, width = 60e6) {
  return { start: last - width * (1 - ROOM), end: last + width * ROOM };
}
