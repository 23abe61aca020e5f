// What findings mean for the view, the lanes and the summary. Pure.

import { MS, clock, digitsFor } from "./time.js";

const SEVERITIES = ["error", "warning", "info"];

export const worst = (groups) => [...groups].sort((one, other) =>
  SEVERITIES.indexOf(one.severity) - SEVERITIES.indexOf(other.severity)
  || other.findings.length - one.findings.length)[0] ?? null; // of equals, the one that befell most

/** A range in which both ends stand well inside; more of what came after than before, for that is the harm. */
export function rangeAround({ start, end }) {
  const length = Math.max(end - start, 20 * MS);
  return { start: Math.round(start - 1.9 * length), end: Math.round(end + 5.8 * length) };
}

/** Groups that overlap the selected one in time: their arrows explain each other. */
export function relatedTo(groups, key) {
  const selected = groups.find((group) => group.key === key);
  if (!selected) return new Set();
  return new Set(groups.filter((group) => group.start <= selected.end && group.end >= selected.start).map((group) => group.key));
}

const isLaneOf = (lane, object) =>
  lane.name === object.name && lane.namespace === object.namespace && lane.key.split("/")[0].split(".")[0] === object.kind;

/** Indices of the lanes that the finding is about: drawn for it, or named by it. */
export function lanesOf(payload, group) {
  const found = new Set();
  for (const name of ["holes", "shades"]) payload[name].finding.forEach((key, i) => key === group.key && found.add(payload[name].lane[i]));
  payload.arrows.finding.forEach((key, i) => key === group.key && [payload.arrows.from_lane[i], payload.arrows.to_lane[i]].forEach((lane) => lane >= 0 && found.add(lane)));
  const named = group.findings.flatMap((finding) => [finding.subject, finding.other]).filter(Boolean);
  payload.lanes.forEach((lane, i) => named.some((object) => isLaneOf(lane, object)) && found.add(i));
  return [...found];
}

/** Creation numbers by time, of the objects that the finding names. */
export function birthsOf(payload, group) {
  if (!group) return new Map();
  const lanes = new Set(lanesOf(payload, group));
  const { lane, time, number } = payload.births;
  return new Map(lane.flatMap((row, i) => (lanes.has(row) ? [[time[i], number[i]]] : [])));
}

/** What the figure shows, in a sentence for those who do not see it. */
export function summary(payload, view, selected) {
  const digits = digitsFor(view.end - view.start);
  const inView = payload.findings.filter((group) => group.end >= view.start && group.start <= view.end).length;
  return `Timeline from ${clock(view.start, digits)} to ${clock(view.end, digits)} UTC: ${payload.lanes_total} lanes, ${inView} findings in view.`
    + (selected ? ` Selected: ${selected.summary}.` : "") + " The list of findings says the same in words.";
}
