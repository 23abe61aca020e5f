// This module finds the lanes and creation numbers of a finding in a loaded window, and describes the window in words.

import { plural } from "./amounts.js";
import { clock, digitsFor } from "./time.js";
import { zone } from "./zone.js";

/** Returns the keys of the findings whose arrows overlap the selected one in time: these explain each other. */
export function relatedTo({ arrows }, selected) {
  if (!selected) return new Set();
  const { finding, from_time: from, to_time: to } = arrows;
  return new Set(finding.filter((_, i) => Math.min(from[i], to[i]) <= selected.end && Math.max(from[i], to[i]) >= selected.start));
}

export const NOISE = ["Events", "Cluster"]; // the families of kinds that are hidden at first

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

/** Returns the words that count incidents and their findings on every page, such as "3 incidents · 12 findings". */
export const countsOf = ({ incidents, findings }) => `${plural(incidents, "incident")} · ${plural(findings, "finding")}`;

/** Returns a description of the figure for screen readers. `counts` are those of the incidents in view. */
export function summary(payload, view, selected, counts) {
  const digits = digitsFor(view.end - view.start);
  return `Timeline from ${clock(view.start, digits)} to ${clock(view.end, digits)} ${zone().labelOf(view.start, view.end)}: ${lanesOfAll(payload)}, ${countsOf(counts)} in view.`
    + (selected ? ` Selected: ${selected.summary}.` : "") + " The list of incidents says the same in words, and the table lists every event.";
}
