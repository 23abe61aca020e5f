// This module formats numbers of things, bytes, shares and remaining times as text.

const UNITS = ["B", "kB", "MB", "GB", "TB"];
const powerOf = (count) => Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, count)) / 3)));
const scaled = (count, power) => (count / 1000 ** power).toFixed(power ? 1 : 0);

/** Returns a text such as "1.2 MB". */
export const bytes = (count) => `${scaled(count, powerOf(count))} ${UNITS[powerOf(count)]}`;

/** Returns a text such as "1.2 of 2.7 GB", with both in the unit of the whole. */
export const share = (part, whole) => `${scaled(part, powerOf(whole))} of ${bytes(whole)}`;

export const percent = (part, whole) => `${Math.floor((100 * part) / Math.max(1, whole))} %`;

/** Returns a text such as "1,558". The first call of toLocaleString would take 50 ms. */
export const thousands = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, ",");

/** Returns a text such as "1 change" or "3,958 changes". */
export const plural = (count, one, several = `${one}s`) => `${thousands(count)} ${count === 1 ? one : several}`;

/** Returns a text such as "about 40 s left", rounded because it is an estimate. */
export function left(seconds) {
  if (!Number.isFinite(seconds) || seconds < 1) return "";
  if (seconds < 60) return `about ${Math.ceil(seconds / 5) * 5} s left`;
  if (seconds < 3600) return `about ${Math.ceil(seconds / 60)} min left`;
  return `about ${(seconds / 3600).toFixed(1)} h left`;
}
