// This module reads times as people type them or paste them from logs, alerts and chats. Times are whole microseconds since
// 1970. A text that names no zone is read in a zone that is given; a text without a day or a year means the nearest one.

import { DAY, HOUR, MINUTE, MS, SECOND } from "./time.js";
import { UTC } from "./zone.js";

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const MONTH = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\\.?", WEEKDAY = "(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\\s+)?";
const CLOCK = "(\\d{1,2}):(\\d\\d)(?::(\\d\\d)(?:[.,](\\d{1,9}))?)?(?:\\s*(am|pm))?";
const ZONE = "(?:\\s*\\(?(Z|UTC|GMT|(?:[A-Z][A-Za-z_]+(?:/[A-Za-z_]+)*\\s+)?[+\\-−]\\d\\d(?::?\\d\\d)?)\\)?)?";
const REST = "(?=$|[\\s\\])}|\",;].*$)"; // what follows a time in a line of a log
const UNITS = { ms: MS, s: SECOND, sec: SECOND, second: SECOND, m: MINUTE, min: MINUTE, minute: MINUTE, h: HOUR, hr: HOUR, hour: HOUR, d: DAY, day: DAY, w: 7 * DAY, week: 7 * DAY };
const LENGTH = "(?:\\d+(?:\\.\\d+)?\\s*(?:ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w)\\s*)+";
const AWAY = 400; // the most days from the nearest one on which a clock is looked for

const whole = (words) => new RegExp(`^${words}$`, "i");
const line = (words) => new RegExp(`^${words}${REST}`, "i");

const lengthOf = (text) => [...text.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)/gi)].reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS[unit.toLowerCase()] ?? UNITS[unit.toLowerCase().replace(/s$/, "")]), 0);

/** Returns a function from what clocks show ("as if UTC") to the time, for a zone as a text names it, or for the given one. */
function placed(named, zone) {
  const away = /([+\-−])(\d\d):?(\d\d)?$/.exec(named ?? "");
  if (away) return (shown) => shown - (away[1] === "+" ? 1 : -1) * (Number(away[2]) * HOUR + Number(away[3] ?? 0) * MINUTE);
  const { offset } = named ? { offset: () => 0 } : { offset: (time) => zone.offset(time) };
  return (shown) => shown - offset(shown - offset(shown));
}

/** Returns the time of day in microseconds since midnight, given hours, minutes, seconds, decimals and am or pm as texts; null if no clock shows that. */
function sinceMidnight([hours, minutes, seconds = "0", digits = "", half = ""]) {
  const hour = half ? (Number(hours) % 12) + (half.toLowerCase() === "pm" ? 12 : 0) : Number(hours);
  if (hour > 24 || minutes > 59 || seconds > 60 || (half && Number(hours) > 12)) return null;
  return hour * HOUR + Number(minutes) * MINUTE + Number(seconds) * SECOND + Number(digits.padEnd(6, "0").slice(0, 6));
}

/** Returns midnight of a day, "as if UTC", or null if there is no such day. */
function midnight(year, month, day) {
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === Number(day) ? date.getTime() * MS : null;
}

/** Returns the time on a day of a year, or of the year in which it is nearest to `near`. */
function dated(year, month, day, since, place, { near }) {
  const middle = new Date(near / MS).getUTCFullYear();
  const times = (year ? [Number(year)] : [middle - 1, middle, middle + 1]).flatMap((each) => {
    const found = since === null ? null : midnight(each, month, day);
    return found === null ? [] : [place(found + since)];
  });
  return times.sort((one, other) => Math.abs(one - near) - Math.abs(other - near))[0] ?? null;
}

/** Returns the time at which clocks show this: within `first` to `last` if there is one, and of these the nearest to `near`. */
function ofClock(since, place, { near, first, last }) {
  if (since === null) return null;
  const day = Math.floor(near / DAY) * DAY;
  const until = Math.min(AWAY, Math.ceil(Math.max(last - near, near - first, 0) / DAY) + 1);
  const times = Array.from({ length: 2 * until + 1 }, (_, i) => place(day + (i - until) * DAY + since)).sort((one, other) => Math.abs(one - near) - Math.abs(other - near));
  return times.find((time) => time >= first && time <= last) ?? times[0];
}

/** Returns the day, of the zone of texts, that was so many days before the one of `now`. */
function dayBefore(days, { now, zone }) {
  const shown = Math.floor((now + zone.offset(now)) / DAY - days) * DAY, place = placed(undefined, zone);
  return { start: place(shown), end: place(shown + DAY) };
}

// Each notation: its pattern, and what it means: (parts, about) → {at}, {start, end}, or null.
const NOTATIONS = [
  [whole("now"), (_, { now }) => ({ at: now })],
  [whole(`(?:now\\s*)?([+\\-−])\\s*(${LENGTH})`), ([sign, length], { now }) => (sign === "+" ? { start: now, end: now + lengthOf(length) } : { start: now - lengthOf(length), end: now })],
  [whole("today"), (_, about) => dayBefore(0, about)],
  [whole("yesterday"), (_, about) => dayBefore(1, about)],
  [whole(`(?:(?:the\\s+)?(?:last|past)\\s+)?(${LENGTH})`), ([length], { now }) => ({ start: now - lengthOf(length), end: now })],
  [whole(`(${LENGTH})\\s*ago`), ([length], { now }) => ({ at: now - lengthOf(length) })],
  [whole("(\\d{10})(?:\\.(\\d{1,9}))?"), ([seconds, digits = ""]) => ({ at: Number(seconds) * SECOND + Number(digits.padEnd(6, "0").slice(0, 6)) })],
  [whole("(\\d{13})(?:\\.\\d+)?"), ([text]) => ({ at: Number(text) * MS })],
  [whole("(\\d{16})(?:\\d{3})?"), ([text]) => ({ at: Number(text) })],
  // klog writes the clock of its machine without a zone, which in clusters is UTC.
  [line(`[IWEF](\\d\\d)(\\d\\d)\\s+${CLOCK}`), ([month, day, ...clock], about) => ({ at: dated("", month, day, sinceMidnight(clock), placed("UTC"), about) })],
  [line(`(\\d{4})[-/](\\d\\d)[-/](\\d\\d)(?:T|\\s+)${CLOCK}${ZONE}`), ([year, month, day, ...rest], about) => ({ at: dated(year, month, day, sinceMidnight(rest), placed(rest[5], about.zone), about) })],
  [line(`(\\d{1,2})/(\\d{1,2})/(\\d{4}),?\\s+${CLOCK}${ZONE}`), ([month, day, year, ...rest], about) => ({ at: dated(year, month, day, sinceMidnight(rest), placed(rest[5], about.zone), about) })],
  [whole(`(\\d{1,2})/(\\d{1,2})/(\\d{4})${ZONE}`), ([month, day, year, zone], about) => wholeDay(year, month, day, zone, about)],
  [whole(`(\\d{4})[-/](\\d\\d)[-/](\\d\\d)${ZONE}`), ([year, month, day, zone], about) => wholeDay(year, month, day, zone, about)],
  [line(`${WEEKDAY}(\\d{1,2})[ \\-/]${MONTH}(?:[ \\-/](\\d{4}))?[ :,]+${CLOCK}${ZONE}`), ([day, month, year, ...rest], about) => ({ at: dated(year, monthOf(month), day, sinceMidnight(rest), placed(rest[5], about.zone), about) })],
  [line(`${WEEKDAY}${MONTH}\\s+(\\d{1,2}),?(?:\\s+(\\d{4}),?)?\\s+${CLOCK}${ZONE}(?:\\s+(\\d{4}))?`), ([month, day, year, ...rest], about) => ({ at: dated(year ?? rest[6], monthOf(month), day, sinceMidnight(rest), placed(rest[5], about.zone), about) })],
  [whole(`(\\d{1,2})[ \\-/]${MONTH}(?:[ \\-/](\\d{4}))?${ZONE}`), ([day, month, year, zone], about) => wholeDay(year, monthOf(month), day, zone, about)],
  [line(`${CLOCK}${ZONE}`), (rest, about) => ({ at: ofClock(sinceMidnight(rest), placed(rest[5], about.zone), about) })],
];

const monthOf = (name) => MONTHS.indexOf(name.slice(0, 3).toLowerCase()) + 1;

function wholeDay(year, month, day, zone, about) {
  const start = dated(year, month, day, 0, placed(zone, about.zone), about);
  return start === null ? null : { start, end: start + DAY };
}

function single(text, about) {
  const bare = text.trim().replace(/^["'[({<]+\s*|\s*["'\])}>]+$/g, "");
  for (const [pattern, read] of NOTATIONS) {
    const parts = pattern.exec(bare);
    const found = parts && read(parts.slice(1), about);
    if (found && Object.values(found).every((time) => Number.isFinite(time))) return found;
  }
  return null;
}

const PASTED = /^\{\s*"from"\s*:\s*"([^"]*)"\s*,\s*"to"\s*:\s*"([^"]*)"\s*\}$/; // the range of a dashboard, as Grafana copies it
const BETWEEN = [/\t+/, /\s+(?:to|until|till)\s+/i, /\s*(?:\.\.+|…|→|–|—)\s*/, /\s+-\s+/, /\//, /(?<=^\s*\d{1,2}:[\d:.]+)-(?=\d{1,2}:)/]; // a hyphen after a date begins a zone
const ending = (text) => new RegExp(`[0-9]${ZONE}$`).exec(text.trim())?.[1];

function between(text, about) {
  for (const each of BETWEEN) {
    const parts = text.split(each);
    if (parts.length !== 2 || !parts.every((part) => part.trim())) continue;
    const named = ending(parts[1]);
    const first = (named && !ending(parts[0]) && single(`${parts[0]} ${named}`, about)) || single(parts[0], about); // "05:57 – 05:58 UTC"
    const start = first?.start ?? first?.at;
    if (start === undefined) continue;
    const length = whole(`\\+\\s*(${LENGTH})`).exec(parts[1].trim());
    const short = /:/.test(parts[1]) || !/^\s*\d{1,2}(\.\d+)?\s*$/.test(parts[1]) ? parts[1] : `${parts[0].trim().replace(/\d{1,2}(\.\d+)?$/, "")}${parts[1].trim()}`; // "07:52:00.7–01.2"
    const second = length ? { at: start + lengthOf(length[1]) } : single(short, { ...about, near: start + 1, first: start + 1, last: start + DAY });
    const end = /^\s*(?:now\s*)?[-−]/i.test(parts[1]) ? second?.start : (second?.end ?? second?.at);
    if (end === undefined) continue;
    return end > start ? { start, end } : { start: end, end: start };
  }
  return null;
}

/**
 * Returns what a text means: {at} for a moment, {start, end} for a range, or null if it is not a time. `now` is the end of what
 * was observed, `near` a time in view, `first` and `last` the ends of the source (all µs), and `zone` the zone of texts that
 * name none (see zone.js).
 */
export function readTime(text, { now, near, first = -Infinity, last = Infinity, zone = UTC }) {
  if (text.length > 1000) return null;
  const about = { now, near, first, last, zone };
  const [, from, until] = PASTED.exec(text.trim()) ?? [];
  if (from) return between(`${from} to ${until}`, about);
  const around = /^(.*?)\s*(?:±|\+\/?-)\s*(.+)$/.exec(text.trim());
  const middle = around && whole(LENGTH).test(around[2]) ? single(around[1], about)?.at : undefined;
  if (middle !== undefined) return { start: middle - lengthOf(around[2]), end: middle + lengthOf(around[2]) };
  return between(text, about) ?? single(text, about);
}
