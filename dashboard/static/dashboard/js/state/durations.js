// This module formats lengths of time as text, with no more digits than are known. timeline/core/durations.py follows the
// same rules; both are tested against tests/lengths.json. A length is {least, most} in µs; `most` is null if no upper bound
// is known.

const MILLISECOND = 1_000, SECOND = 1_000_000, MINUTE = 60_000_000, HOUR = 3_600_000_000;
const CLOSE = 5; // a range is written as its middle ("≈ 50 ms") if it is at most a fifth as wide as its upper bound
const UNITS = [[SECOND, "s", 100 * MILLISECOND], [MILLISECOND, "ms", MILLISECOND], [1, "µs", 0]]; // for each unit: its size in µs, its symbol, and the shortest length that is written in it

const down = (value, step) => Math.floor(value / step) * step;
const up = (value, step) => Math.ceil(value / step) * step;
const round = (value, step) => Math.round(value / step) * step;
const unitOf = (length) => UNITS.find(([, , least]) => length >= least);

/** Returns a length in units of `size`, with all digits. */
function digits(length, size) {
  const whole = Math.floor(length / size);
  const rest = String(length % size).padStart(String(size).length - 1, "0").replace(/0+$/, "");
  return rest ? `${whole}.${rest}` : String(whole);
}

/** Returns a length that is rounded already as text, with all of its digits; from an hour on without seconds. */
function exact(length) {
  if (length < MINUTE) {
    const [size, unit] = unitOf(length);
    return `${digits(length, size)} ${unit}`;
  }
  const minutes = Math.floor(length / MINUTE), seconds = Math.floor((length % MINUTE) / SECOND);
  if (minutes < 60) return seconds ? `${minutes} min ${seconds} s` : `${minutes} min`;
  return minutes % 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${minutes / 60} h`;
}

/** Returns the multiple (µs) to which lengths up to `most` are rounded: that of its second digit, or a whole second or minute for long ones. */
function stepOf(most) {
  if (most >= MINUTE) return most >= HOUR ? MINUTE : SECOND;
  return 10 ** Math.max(0, String(most).length - 2);
}

/** Returns the middle of a range as text, without digits that are smaller than the width of the range. */
function middleOf({ least, most }) {
  const middle = Math.floor((least + most) / 2), width = most - least;
  if (middle >= MINUTE - SECOND / 2) {
    const step = [10 * MINUTE, MINUTE, 10 * SECOND, 0].find((one) => one <= width);
    return exact(round(middle, Math.max(step, middle >= HOUR ? MINUTE : SECOND)));
  }
  return exact(round(middle, 10 ** Math.max(0, String(width).length - 1, String(middle).length - 3)));
}

/** Returns an exact length (µs) as text: 53 ms, 4.2 s, 3 min 5 s, 2 h 10 min. */
export function duration(length) {
  const known = Math.round(length);
  if (known < MILLISECOND) return `${known} µs`;
  if (known < 999_500) return `${Math.round(known / MILLISECOND)} ms`;
  return exact(round(known, known < 59_950_000 ? SECOND / 10 : SECOND));
}

/** Returns the range of possible lengths as text, rounded outwards to two digits. */
function certain({ least, most }) {
  const step = stepOf(most);
  const low = down(least, step), high = Math.max(step, up(most, step));
  if (low === 0) return `≤ ${exact(high)}`;
  if (low === high) return exact(high);
  if (high >= MINUTE) return `${exact(low)} – ${exact(high)}`;
  const [size, unit] = unitOf(high);
  return `${digits(low, size)}–${digits(high, size)} ${unit}`;
}

/** Returns text such as "53 ms" for an exact length, "≈ 50 ms" for a narrow range, and otherwise "45–56 ms", "≤ 0.5 s" or "at least 1.2 s". */
export function words(length) {
  const { least, most } = length;
  if (most === null) return least ? `at least ${exact(down(least, stepOf(least)))}` : "an unknown time";
  if (least && duration(least) === duration(most)) return duration(least);
  return most > 0 && (most - least) * CLOSE <= most ? `≈ ${middleOf(length)}` : certain(length);
}

/**
 * Returns the length of time between two moments. Each is {time, within}: the time at which a change is drawn, and how many
 * µs before and after that it may have been committed (see Within in payloads/windows.py), or null if that is not known.
 */
export function apart(one, other) {
  if (!one.within || !other.within) return { least: 0, most: null };
  const between = other.time - one.time;
  const [before, after] = one.within, [earlier, later] = other.within;
  return { least: after === null ? 0 : Math.max(0, between - earlier - after), most: later === null ? null : Math.max(0, between + later + before) };
}
