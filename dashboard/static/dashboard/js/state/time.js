// This module formats times, which are whole microseconds since 1970 (UTC), as text: in the zone that is shown (see zone.js),
// or in another one.

import { STEPS } from "./shapes.js";
import { zone as shown, zones } from "./zone.js";

export const MS = 1000, SECOND = 1e6, MINUTE = 60e6, HOUR = 3600e6, DAY = 86400e6;

const two = (n) => String(n).padStart(2, "0");
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const fraction = (time, digits) => (digits ? "." + String(((time % SECOND) + SECOND) % SECOND).padStart(6, "0").slice(0, digits) : "");

/** Returns the Date whose UTC fields are what the clocks of a zone show at a time. */
const clocks = (time, zone) => new Date(Math.floor((time + zone.offset(time)) / 1000));

/** Returns a text such as "07:52:00.740". */
export function clock(time, digits = 3, zone = shown()) {
  const whole = Math.floor(time);
  const date = clocks(whole, zone);
  return `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}${fraction(whole, digits)}`;
}

/** Returns a text such as "07:52:00.7–01.2", without the part of the end that both times share. */
export function shortRange(start, end) {
  const digits = Math.min(1, digitsFor(end - start));
  const [from, to] = [clock(start, digits), clock(end, digits)];
  const shared = from.slice(0, 6) === to.slice(0, 6) ? 6 : from.slice(0, 3) === to.slice(0, 3) ? 3 : 0;
  return `${from}–${to.slice(shared)}`;
}

/** Returns a text such as "21 Nov". */
export function day(time, zone = shown()) {
  const date = clocks(time, zone);
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`;
}

/** Returns with how many digits after the second times are shown in a range of this width (µs). */
export const digitsFor = (width) => (width < 10 * MS ? 6 : width < 5 * MINUTE ? 3 : 0);

/**
 * Returns the time of a change with no more digits than its clock has: "07:52:31" if only the second is known, and
 * "07:52:31–07:52:33" if it is known less exactly. `within` are the µs before and after `time` between which it was committed
 * (see Within in payloads/windows.py), or null. dashboard/presentation/wording.py does the same.
 */
export function instant(time, within, digits = 6, zone = shown()) {
  if (!within) return clock(time, time % SECOND === 0 ? 0 : digits, zone);
  const earliest = time - within[0], latest = within[1] === null ? null : time + within[1];
  if (latest === null ? earliest % SECOND !== 0 : latest - earliest < SECOND) return clock(time, digits, zone);
  if (latest === null) return clock(time, 0, zone);
  const until = Math.ceil(latest / SECOND);
  return until <= Math.floor(earliest / SECOND) + 1 ? clock(earliest, 0, zone) : `${clock(earliest, 0, zone)}–${clock(until * SECOND, 0, zone)}`;
}

/** Returns the time of a change with its day in the shown zone, and in the other one: ["2026-11-21 07:52:00.841 UTC", …]. */
export const inZones = (time, within = null, digits = 6) => zones().map((zone) => `${date(time, zone)} ${instant(time, within, digits, zone)} ${zone.label(time)}`);

/** Returns lines with the words that `write(zone)` returns for the shown zone and the other one, each with the name of its zone. */
export const linesOf = (time, write) => zones().map((zone) => [day(time, zone) === day(time) ? "" : day(time, zone), write(zone), zone.label(time)].filter(Boolean).join(" "));

/** Returns a text such as "2026-11-21". */
export const date = (time, zone = shown()) => clocks(time, zone).toISOString().slice(0, 10);

/** Returns a text that states a time in UTC, such as "21 Nov 2026 07:52 UTC", with what the clocks of a zone show at that time. */
export function translated(text, time, zone) {
  return text.replace(/\d{4}-\d\d-\d\d/, date(time, zone))
    .replace(/\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)( \d{4})?/, (_, year) => day(time, zone) + (year ? ` ${date(time, zone).slice(0, 4)}` : ""))
    .replace(/\d\d:\d\d/, clock(time, 0, zone).slice(0, 5))
    .replace(/ UTC$/, ` ${zone.label(time)}`);
}

/** Returns a text such as "3 s ago" or "12 min ago" for a length (µs), rounded down to whole units. */
export function age(length) {
  if (length < SECOND) return "now";
  const [unit, name] = length < MINUTE ? [SECOND, "s"] : length < HOUR ? [MINUTE, "min"] : length < DAY ? [HOUR, "h"] : [DAY, "d"];
  return `${Math.floor(length / unit)} ${name} ago`;
}

/** Returns an ISO 8601 time as whole microseconds since 1970. Date alone would cut it to milliseconds. */
export function fromIso(text) {
  const [, seconds, digits = ""] = /^(.{16}(?::\d\d)?)(?:\.(\d+))?/.exec(text) ?? [];
  return seconds ? Date.parse(`${seconds}Z`) * 1000 + Number(digits.padEnd(6, "0").slice(0, 6)) : NaN;
}

const APART = STEPS.flatMap(([unit, counts]) => counts.map((count) => count * unit)); // µs

/** Returns the times of a range, in order, at which the clocks of a zone show a multiple of a step. */
function roundTimes(start, end, step, zone) {
  const offsets = new Set([zone.offset(end)]); // there are two if the clocks are put forward or back in the range
  for (let time = start; time < end; time += step) offsets.add(zone.offset(time));
  const found = [];
  for (const offset of offsets) {
    for (let time = Math.ceil((start + offset) / step) * step - offset; time <= end; time += step) if (zone.offset(time) === offset) found.push(time);
  }
  return found.sort((one, other) => one - other);
}

/** Returns the ticks [{time, text, full}] of an axis of `pixels`. `text` may only continue the previous tick (".850"). */
export function ticks(start, end, pixels) {
  const least = ((end - start) / pixels) * 82;
  const step = APART.find((candidate) => candidate >= least) ?? APART.at(-1);
  const digits = step >= SECOND ? 0 : step >= MS ? 3 : 6;
  const write = (time) => (step >= DAY ? day(time) : step >= MINUTE ? clock(time, 0).slice(0, 5) : clock(time, digits));
  const zone = shown();
  const found = [];
  const dayOf = (time) => Math.floor((time + zone.offset(time)) / DAY);
  for (const time of roundTimes(start, end, step, zone)) {
    const before = time - step;
    const newDay = step < DAY && dayOf(time) !== dayOf(before);
    const newSecond = Math.floor(time / SECOND) !== Math.floor(before / SECOND);
    const full = newDay ? day(time) : write(time);
    found.push({ time, full, text: digits && !newSecond ? fraction(time, digits) : full });
  }
  return found;
}
