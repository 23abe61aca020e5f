// This module makes the element of a time, whose tooltip states the time in UTC and in the reader's zone.

import { el } from "../draw/dom.js";
import { inZones } from "../state/time.js";

/**
 * Returns the element of a time (µs) with these words. `within` is as `instant` has it, `digits` how many follow the second,
 * and `more` has further lines of the tooltip.
 */
export function timeOf(time, words, { within = null, digits = 6, more = [], ...attributes } = {}) {
  const both = inZones(time, within, digits);
  const title = [...both, ...more].filter(Boolean).join("\n");
  return el("time", { datetime: new Date(Math.floor(time / 1000)).toISOString(), title, "data-other": both[1] ?? "", ...attributes }, words);
}
