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

/** Returns how many incidents these are, and how many findings they have. */
export const counted = (incidents) => ({ incidents: incidents.length, findings: incidents.reduce((sum, { findings }) => sum + findings, 0) });
