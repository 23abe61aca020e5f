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

const SPACES = 2; // namespaces of an incident that are named
export const NOISE = ["Events", "Cluster"]; // the families of kinds that are hidden at first

/** Returns the kind of a lane, with its API group, as gaps have it. */
export const kindOf = ({ key }) => key.split("/", 1)[0];

/** Returns the key of the lane of an object that a finding names, as LanePayload has it. */
export const laneKeyOf = ({ group, kind, namespace, name }) => `${group ? `${kind}.${group}` : kind}/${namespace}/${name}`;

let apart = { events: [] }; // the last result of unshown, with what it was computed from

/** Returns the events that prove a finding and that no change shows, such as refused requests: [{lane, time (µs), role, who}]. Those about no object are on the lane of the subject. `near` (µs) is how far a change may be for that. */
export function unshown(payload, group, near) {
  if (!group) return [];
  if (apart.payload !== payload || apart.group !== group || apart.near !== near) apart = { payload, group, near, events: unshownIn(payload, group, near) };
  return apart.events;
}

function unshownIn(payload, group, near) {
  const { bars, births, marks } = payload;
  const subject = payload.lanes.findIndex((lane) => isLaneOf(lane, group.findings[0].subject));
  const changes = [[bars, bars.start], [bars, bars.end], [births, births.time], [marks, marks.time]];
  return group.proof.flatMap(({ track, at, role, actor, user_agent: agent }) => {
    if (!track) return subject < 0 ? [] : [{ lane: subject, time: at, role, who: actor || agent || "" }];
    const bar = bars.track.indexOf(track);
    if (bar < 0 || changes.some(([{ track: tracks }, times]) => times.some((time, i) => tracks[i] === track && Math.abs(time - at) <= near))) return [];
    return [{ lane: bars.lane[bar], time: at, role, who: actor || agent || "" }];
  });
}

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

const NONE = new Map();
let named = { births: NONE }; // the last result of birthsOf, with what it was computed from

/** Returns the creation numbers, by time, of the objects that the finding names: the same map as long as neither changes. */
export function birthsOf(payload, group) {
  if (!group || !payload) return NONE;
  if (named.payload !== payload || named.group !== group) named = { payload, group, births: birthsIn(payload, group) };
  return named.births;
}

function birthsIn(payload, group) {
  const lanes = new Set(lanesOf(payload, group));
  const { lane, time, number } = payload.births;
  return new Map(lane.flatMap((row, i) => (lanes.has(row) ? [[time[i], number[i]]] : [])));
}

/** Returns "23 lanes", "23 lanes · 9 folded" or "more than 5,000 lanes". `unfold` has the keys of the groups that were unfolded. */
export function lanesOfAll({ lanes_total: total, lanes_more: more, folded }, unfold = []) {
  const hidden = folded && !unfold.length ? folded.quiet + folded.furniture : 0;
  return `${more ? "more than " : ""}${plural(total, "lane")}${hidden ? ` · ${hidden}${hidden >= 2000 ? " or more" : ""} folded` : ""}`;
}

/** Returns in words how many lanes are folded, such as "7 objects without a change"; "" for none. The server counts 2000 at most. */
export function foldedIn({ quiet, furniture }) {
  const number = (count) => (quiet + furniture >= 2000 ? `more than ${plural(count, "object")}` : plural(count, "object"));
  const rest = furniture ? `${quiet ? plural(furniture, "other") : number(furniture)} that every namespace has` : "";
  return [quiet ? `${number(quiet)} without a change` : "", rest].filter(Boolean).join(" · ");
}

/** Returns the words that count incidents on every page, such as "1 incident · 13 symptoms · 50 findings". */
export const countsOf = ({ incidents, symptoms, findings }) => `${plural(incidents, "incident")} · ${plural(symptoms, "symptom")} · ${plural(findings, "finding")}`;

/** Returns what an incident is about, as its page says it (presentation/incidents.py): "batch / Job train", or "batch, nightly / 7 Jobs" if its symptoms are about several objects. */
export function placeOf({ anchor, anchored_in: within = [], symptoms = [], symptoms_total: total = 1 }) {
  const every = [anchor, ...symptoms.map((symptom) => symptom.anchor)], about = every.filter(({ kind }) => kind !== "Actor");
  const different = new Map(about.map((each) => [[each.group, each.kind, each.namespace, each.name].join("/"), each.kind]));
  const { namespace, kind, name } = about[0] ?? anchor;
  if (different.size < 2) return [namespace, `${kind} ${name}`].filter(Boolean).join(" / ");
  const spaces = within.filter(Boolean), more = spaces.length > SPACES ? ` and ${spaces.length - SPACES} more` : "";
  const kinds = [...new Set(different.values())];
  return [spaces.slice(0, SPACES).join(", ") + more, `${total > symptoms.length ? "at least " : ""}${different.size} ${kinds.length === 1 ? `${kinds[0]}s` : "objects"}`].filter(Boolean).join(" / ");
}

/** Returns a description of the figure for screen readers. `counts` are those of the incidents in view. */
export function summary(payload, view, selected, counts) {
  const digits = digitsFor(view.end - view.start);
  return `Timeline from ${clock(view.start, digits)} to ${clock(view.end, digits)} ${zone().labelOf(view.start, view.end)}: ${lanesOfAll(payload)}, ${countsOf(counts)} in view.`
    + (selected ? ` Selected: ${selected.summary}.` : "") + " The list of incidents says the same in words, and the table lists every event.";
}
