// This module orders incidents and findings, and chooses the most severe ones. It does not use the DOM.

const SEVERITIES = ["error", "warning", "info"];
const rank = ({ severity }) => SEVERITIES.indexOf(severity);
const keyOf = (one) => one.key ?? one.id;

/** Orders by severity, and what is equally severe by time. */
export const gravest = (one, other) => rank(one) - rank(other) || earliest(one, other);

/** Orders by time, and what began at the same time by severity. */
export const earliest = (one, other) => one.start - other.start || rank(one) - rank(other) || (keyOf(one) < keyOf(other) ? -1 : 1);

/** Orders a live source: the latest comes first. */
export const newest = (one, other) => other.end - one.end || rank(one) - rank(other) || (keyOf(one) < keyOf(other) ? -1 : 1);

/** The orders of lists by the names that the server gives them. */
export const ORDERS = { newest, time: earliest, gravest };

/** Returns how many incidents these are, and how many symptoms and findings they have. */
export function counted(incidents) {
  const sum = (of) => incidents.reduce((all, one) => all + of(one), 0);
  return { incidents: incidents.length, symptoms: sum(symptomsOf), findings: sum(({ findings }) => findings) };
}

/** Returns how many symptoms an incident has; one of the last release does not say it, and has one. */
export const symptomsOf = ({ symptoms_total: total = 1 }) => total;

/** Returns how many rows of a list are new, gone or have moved, given the ids of its rows before and after. */
export function changed(before, after) {
  const places = new Map(before.map((id, place) => [id, place])), there = new Set(after);
  const kept = []; // its length is that of the longest series of rows that have kept their order
  for (const place of after.map((id) => places.get(id)).filter((each) => each !== undefined)) {
    const at = kept.findIndex((other) => other >= place);
    kept[at < 0 ? kept.length : at] = place;
  }
  return after.length - kept.length + before.filter((id) => !there.has(id)).length;
}
