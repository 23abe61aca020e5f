// This module replaces ../state/api.js in a report: it answers requests as the server would, from the payloads of the server's code in the report.

import { isOf } from "../state/actors.js";
import { eventsOf } from "../state/events.js";
import { findingMatches, objectMatches } from "../state/matching.js";
import { counted } from "../state/ordering.js";
import { inRange } from "../state/ranges.js";

const embedded = JSON.parse(document.getElementById("held").textContent); // {view that is shown first, overview, window of all lanes that it draws, incidents, keys of the lanes that they begin with, findings, families of their subjects by key}

const ABOUT = new URLSearchParams(document.body.dataset.search).get("incident"); // the only incident of the report, which has reached all of its lanes

/** Returns what the report shows first, unless the address says it. */
export const opening = async () => ({ view: location.hash.includes("=") ? {} : embedded.view });

export async function overview(_, root) {
  const { overview: whole, findings: all } = embedded;
  const own = all.filter((group) => inScope(group, root));
  return root ? { ...whole, ticks: own.map(({ start }) => start), severities: own.map(({ severity }) => severity) } : whole;
}

/** Returns the findings that match the filter, all in one page. */
export async function findings(_, { key, incident: of, ...filter }) {
  const actorsOf = (id) => embedded.incidents.find((one) => one.id === id)?.actors ?? [];
  const found = embedded.findings.filter((group) => (!key || group.key === key) && (!of || group.incidents.includes(of))
    && findingMatches(group, { families: embedded.families[group.key], actors: group.incidents.map(actorsOf) }, filter));
  return { findings: found, order: "gravest", next: null, total: found.length };
}

/** Returns whether a finding names a root owner (its number as text) or what that owns; true without a root. */
function inScope(group, root) {
  const { lanes, bars } = embedded.window;
  const owned = (track) => lanes[bars.lane[bars.track.indexOf(track)]]?.group === root;
  return !root || String(group.focus) === root || group.proof.some(({ track }) => owned(track));
}

/** Returns the incidents of the findings that match the filter, all in one page. */
export async function incidents(_, { severity, root, harmless, start = 0, end = Infinity, ...filter }) {
  const groups = (await findings(0, filter)).findings.filter((group) => inScope(group, root) && inRange(group, { start, end }));
  const ids = new Set(groups.flatMap((group) => group.incidents));
  const every = embedded.incidents.filter((one) => ids.has(one.id) && (!severity || one.severity === severity));
  const found = every.filter((one) => harmless || severity === "info" || one.severity !== "info" || one.effect !== "none");
  const { symptoms, findings: total } = counted(found);
  return { incidents: found, order: "time", next: null, total: found.length, symptoms, findings: total, acknowledged: 0, silenced: 0, harmless: every.length - found.length };
}

export const incident = async (_, id) => embedded.incidents.find((one) => one.id === id);

/** Returns the revisions of two moments {time (µs), track}, as the server does. The revision of a moment without a track is null if the report leaves out revisions because there are too many. */
export async function measure(_, { start, end }) {
  const { time, resource_version: revisions } = embedded.steps ?? { time: [], resource_version: [] };
  const drawn = eventsOf(embedded.window);
  const upTo = ({ time: moment, track }) => {
    const own = track && drawn.find((event) => event.track === track && event.time === moment)?.revision;
    if (own) return { time: moment, resource_version: own };
    const at = time.findLastIndex((step) => step <= moment);
    return at < 0 ? null : { time: time[at], resource_version: revisions[at] };
  };
  return { start: upTo(start), end: upTo(end) };
}

// A report has no logs of programs.
export const isAway = () => false;
export const logs = async () => ({ logs: [], more: false });
export const logMarks = async () => [];
export const logProof = async () => [];
export const logLine = async () => null;

/** Returns what the report holds of a change: its time and revision, and its writer if a finding names it. */
export async function change(_, track, { sequence, at, revision }) {
  const { lanes } = embedded.window;
  const events = eventsOf(embedded.window).filter((event) => event.track === track);
  const wanted = sequence ? Number(sequence) - 1 : events.findIndex((event) => event.time === at && (!revision || event.revision === revision));
  const event = events[wanted];
  if (!event) throw new Error("The report does not hold this change.");
  const { kind, namespace, name, key, short, family } = lanes[event.lane];
  const proof = embedded.findings.flatMap((group) => group.proof).find((each) => each.track === track && each.resource_version !== null && each.resource_version === event.revision);
  return {
    track, sequence: wanted + 1, lane: key, short, family, object: { kind, namespace, name }, change: event.what, action: "",
    at: event.time, within: event.within, resource_version: event.revision, number: wanted + 1, total: events.length,
    earlier: wanted > 0 ? wanted : null, later: wanted + 1 < events.length ? wanted + 2 : null,
    actor: proof?.actor, user_agent: proof?.user_agent, controller: null, unknown_writer: proof?.actor || proof?.user_agent ? "" : "A report names writers only in the proof of findings.",
    whole: false, lines: [], lines_total: 0, notes: [], nothing: "A report does not hold the objects, so it cannot show what was changed.", url: "", revision_url: "", too_large: false, texts: [],
  };
}

export const copy = async () => null; // a report does not hold the objects

/** Returns the columns of some lanes. `lanes` maps the index of each of them to its new index. */
function kept(columns, lanes) {
  const rows = columns.lane.flatMap((lane, i) => (lanes.has(lane) ? [i] : []));
  return {
    ...Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, rows.map((i) => column[i])])),
    lane: rows.map((i) => lanes.get(columns.lane[i])),
  };
}

/** Returns the indices of the lanes that prove or show these findings. */
function lanesOf({ bars, holes, shades, arrows }, groups) {
  const keys = new Set(groups.map(({ key }) => key));
  const tracks = new Set(groups.flatMap(({ proof }) => proof.map(({ track }) => track)));
  const found = new Set(bars.lane.filter((_, i) => tracks.has(bars.track[i])));
  for (const { lane, finding } of [holes, shades]) finding.forEach((key, i) => keys.has(key) && found.add(lane[i]));
  arrows.finding.forEach((key, i) => keys.has(key) && [arrows.from_lane[i], arrows.to_lane[i]].forEach((lane) => found.add(lane)));
  return found;
}

/** Returns the group of the lane with which an incident begins; undefined where the report does not say it. */
const beginningOf = ({ lanes }, id) => lanes.find(({ key }) => key === embedded.beginnings[id])?.group;

/** Returns the indices of the lanes that match a query, in order: first the group in focus, or with which an incident begins that is shown alone, then the groups of the selected finding, then the others. */
async function matching(all, heading, question) {
  const { start, end, rule, severity, actor, active, focus, scope, finding, incident: alone } = question;
  const { lanes, bars, births, marks } = all;
  const alive = new Set(bars.lane.filter((_, i) => inRange({ start: bars.start[i], end: bars.end[i] }, question)));
  const changed = new Set([births, marks].flatMap(({ lane, time }) => lane.filter((_, i) => time[i] >= start && time[i] <= end)));
  const concerned = rule || severity ? lanesOf(all, (await findings(0, { rule, severity })).findings) : null;
  const own = scope ? lanesOf(all, embedded.findings.filter((group) => inRange(group, question) && inScope(group, scope))) : null;
  const reached = alone && alone !== ABOUT ? lanesOf(all, embedded.findings.filter((group) => group.incidents.includes(alone))) : null;
  const first = alone ? beginningOf(all, alone) : String(focus);
  const written = new Set([bars, births, marks].flatMap(({ lane, actor: by }) => lane.filter((_, i) => isOf(all, by[i], actor))));
  const found = lanes.flatMap((lane, i) =>
    (alive.has(i) && (!actor || written.has(i)) && (!own || lane.group === scope || own.has(i)) && (!active || changed.has(i)) && (!concerned || concerned.has(i)) && (!reached || reached.has(i)) && objectMatches(lane, { ...question, noise: true }) ? [i] : []));
  const proof = new Set([...lanesOf(all, alone ? [] : embedded.findings.filter(({ key }) => key === finding))].map((i) => lanes[i]?.group));
  const rank = (i) => (lanes[i].group === first ? 0 : proof.has(lanes[i].group) ? 1 : 2);
  const ordered = found.sort((a, b) => rank(a) - rank(b)); // the sort is stable
  const headings = [...new Set(ordered.map(heading))];
  return question.group === "owner" ? ordered : ordered.sort((a, b) => headings.indexOf(heading(a)) - headings.indexOf(heading(b)));
}

/** Returns the name of a root owner, as ScopePayload has it. */
function scopeOf({ lanes, groups }, root) {
  const { label: name, namespace } = groups.find(({ key }) => key === root) ?? { label: "", namespace: "" };
  return { kind: lanes.find((lane) => lane.group === root && lane.name === name)?.kind ?? "", namespace, name };
}

/** Returns {quiet, folded}: the indices of lanes that are drawn without colour, and those of them that a view folds, as the server decides it. */
function still({ lanes, bars, births, marks, ...all }, { start, end, finding, fold, name, rule, severity, active, actor, scope, incident: alone }) {
  const changed = new Set([births, marks].flatMap(({ lane, time }) => lane.filter((_, i) => time[i] >= start && time[i] <= end)));
  bars.lane.forEach((lane, i) => bars.start[i] >= start && bars.start[i] <= end && changed.add(lane));
  const named = lanesOf({ bars, ...all }, embedded.findings.filter((group) => group.key === finding || inRange(group, { start, end })));
  const quiet = new Set(lanes.flatMap((lane, i) => (!named.has(i) && (lane.furniture || !changed.has(i)) ? [i] : [])));
  return { quiet, folded: fold && !(name || rule || severity || active || actor || scope || alone) ? quiet : new Set() };
}

const HEADINGS = { owner: "group", kind: "family", namespace: "namespace", actor: "creator" };

export class Windows {
  async ask(given) {
    const { window: all, overview: { first, last } } = embedded;
    const question = { start: first, end: last, offset: 0, kinds: [], pins: [], closed: [], group: "owner", ...given };
    const { offset, limit, pins, closed, group } = question;
    const heading = (lane) => all.lanes[lane][HEADINGS[group]];
    const pinned = pins.map((key) => all.lanes.findIndex((lane) => lane.key === key)).filter((lane) => lane >= 0);
    const every = (await matching(all, heading, question)).filter((lane) => !pinned.includes(lane));
    const { quiet, folded } = still(all, question);
    const unfold = question.unfold ?? [];
    const found = every.filter((lane) => !folded.has(lane) || unfold.includes("*") || unfold.includes(heading(lane)));
    const foldedIn = (given) => {
      const hidden = given.filter((lane) => folded.has(lane));
      const furniture = hidden.filter((lane) => all.lanes[lane].furniture).length;
      return { quiet: hidden.length - furniture, furniture };
    };
    // A closed group is one row.
    const rows = found.filter((lane, i) => !closed.includes(heading(lane)) || i === found.findIndex((other) => heading(other) === heading(lane)));
    const page = rows.slice(offset, offset + limit);
    const shown = [...pinned, ...page.filter((lane) => !closed.includes(heading(lane)))];
    const lanes = new Map(shown.map((lane, i) => [lane, i]));
    const filtered = ["kinds", "namespace", "name", "rule", "severity", "actor", "active", "incident"].some((name) => String(question[name] || ""));
    const groups = [...new Set(page.map(heading))].map((key) => {
      const own = found.filter((lane) => heading(lane) === key);
      const known = group === "owner" ? all.groups.find((one) => one.key === key) : { key, short: "", label: key || (group === "actor" ? "not known" : "cluster"), namespace: "", track: null };
      const next = page.findIndex((lane) => heading(lane) === key);
      return {
        ...known, folded: foldedIn(every.filter((lane) => heading(lane) === key)), closed: closed.includes(key), lanes: filtered || group !== "owner" ? own.length : known.lanes,
        first: pinned.length + page.slice(0, next).filter((lane) => !closed.includes(heading(lane))).length,
      };
    });
    const { from_lane, to_lane } = all.arrows;
    const end = (lane) => lanes.get(lane) ?? -1;
    return {
      ...all, offset, scope: question.scope ? scopeOf(all, question.scope) : null, lanes_total: rows.length, pins: pinned.length, groups, folded: offset + limit >= rows.length ? foldedIn(every) : null,
      lanes: shown.map((lane, i) => ({ ...all.lanes[lane], group: heading(lane), pinned: i < pinned.length, quiet: i >= pinned.length && quiet.has(lane) })),
      ...Object.fromEntries(["bars", "strips", "births", "marks", "holes", "shades", "dots"].map((name) => [name, kept(all[name], lanes)])),
      views: all.views.flatMap((view) => (lanes.has(view.lane) ? [{ ...view, lane: lanes.get(view.lane) }] : [])),
      arrows: { ...all.arrows, from_lane: from_lane.map(end), to_lane: to_lane.map(end) },
    };
  }
}
