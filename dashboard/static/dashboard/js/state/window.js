// This module finds the lanes and creation numbers of a finding in a loaded window, and describes the window in words.

import { plural } from "./amounts.js";
import { clock, digitsFor } from "./time.js";

/** Returns the keys of the findings that overlap the selected one in time: their arrows explain each other. */
export function relatedTo(groups, selected) {
  if (!selected) return new Set();
  return new Set(groups.filter((group) => group.start <= selected.end && group.end >= selected.start).map((group) => group.key));
}

/** Returns the kind of a lane, with its API group, as gaps have it. */
export const kindOf = ({ key }) => key.split("/", 1)[0];

const isLaneOf = (lane, object) =>
  lane.name === object.name && lane.namespace === object.namespace && lane.key.split("/")[0].split(".")[0] === object.kind;

/** Returns the indices of the lanes that the finding is about: those that show it, or that it names. */
export function lanesOf(payload, group) {
  const found = new Set();
  for (const name of ["holes", "shades"]) payload[name].finding.forEach((key, i) => key === group.key && found.add(payload[name].lane[i]));
  payload.arrows.finding.forEach((key, i) => key === group.key && [payload.arrows.from_lane[i], payload.arrows.to_lane[i]].forEach((lane) => lane >= 0 && found.add(lane)));
  const named = group.findings.flatMap((finding) => [finding.subject, finding.other]).filter(Boolean);
  payload.lanes.forEach((lane, i) => named.some((object) => isLaneOf(lane, object)) && found.add(i));
  return [...found];
}

/** Returns the creation numbers, by time, of the objects that the finding names. */
export function birthsOf(payload, group) {
  if (!group || !payload) return new Map();
  const lanes = new Set(lanesOf(payload, group));
  const { lane, time, number } = payload.births;
  return new Map(lane.flatMap((row, i) => (lanes.has(row) ? [[time[i], number[i]]] : [])));
}

/** Returns "23 lanes" or "more than 5,000 lanes". */
export const lanesOfAll = ({ lanes_total: total, lanes_more: more }) => (more ? `more than ${plural(total, "lane")}` : plural(total, "lane"));

/** Returns a description of the figure for screen readers. */
export function summary(payload, view, selected) {
  const digits = digitsFor(view.end - view.start);
  return `Timeline from ${clock(view.start, digits)} to ${clock(view.end, digits)} UTC: ${lanesOfAll(payload)}, ${plural(payload.findings_in_view, "finding")} in view.`
    + (selected ? ` Selected: ${selected.summary}.` : "") + " The list of findings says the same in words, and the table lists every event.";
}
