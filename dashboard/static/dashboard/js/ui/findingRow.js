// This module makes a row of the findings of an incident. The selected row is open and shows its proof.

import { byId, el, svg, withCode } from "../draw/dom.js";
import { writerOf } from "../state/actors.js";
import { findingPage, rulePage, wherePage } from "../state/links.js";
import { SECOND, clock, day, fromIso, inZones, instant, shortRange } from "../state/time.js";
import { timeOf } from "./timeOf.js";

const ARROW = "M3 13C3 6 12 10 12 4M8.8 6 12 2.5 15 6";
const MOST_NAMED = 24; // the most objects that are linked; the finding's page names all

/** Returns the time of a finding, or from when to when it lasted, with the day if that is not today. `now`: µs, for a live source. */
function when({ start, end }, now) {
  const today = now !== null && day(now) === day(start), digits = now === null ? 3 : 0;
  const lasted = end - start >= SECOND / 10 ? [`until ${inZones(end, null, digits)[0]}`] : [];
  const words = !lasted.length ? clock(start, digits) : day(start) === day(end) ? shortRange(start, end) : `${clock(start, 0)} – ${day(end)} ${clock(end, 0)}`;
  return timeOf(start, `${today || now === null ? "" : `${day(start)} `}${words}`, { digits, more: lasted, class: "when" });
}

const meanings = JSON.parse(byId("pill-meanings").textContent);
export const pill = (word, tone = "") => el("span", { class: `pill ${tone}`, title: meanings[word], "aria-description": meanings[word] }, word);
const link = (page, words, attributes = {}) => (page ? el("a", { href: page, ...attributes }, words) : words);

const revisionOf = (proof) => (proof.resource_version === null ? "" : ` · RV ${proof.resource_version}`);

function proofRow(proof, births) {
  const time = fromIso(proof.time);
  const within = proof.earliest && [time - fromIso(proof.earliest), proof.latest && fromIso(proof.latest) - time];
  const later = within && within[1] === null ? " or later" : "";
  const number = /creat/i.test(proof.role) ? births.get(time) : undefined;
  const where = proof.file && proof.line ? `${proof.file} line ${proof.line}` : null;
  return el("div", { class: "proof" },
    el("dt", {}, number === undefined ? null : [el("span", { class: "birth-number" }, String(number)), " "], proof.role),
    el("dd", {},
      timeOf(time, `${instant(time, within, 3)}${later}${revisionOf(proof)}`, { within, more: [where, proof.audit_id && `audit ID ${proof.audit_id}`], class: "mono" }),
      el("span", { class: "actor", title: proof.user_agent ?? "" }, writerOf(proof) || "actor not recorded")));
}

/** Returns the objects that the findings of a row name, each with a link to its lane. */
function objects(group) {
  const named = new Map(group.findings.flatMap((finding) => [finding.subject, finding.other]).filter(Boolean)
    .map((object) => [[object.kind, object.namespace, object.name].join("/"), object]));
  const all = [...named.values()].sort((one, other) => one.kind.localeCompare(other.kind) || one.name.localeCompare(other.name));
  const shown = all.slice(0, MOST_NAMED).flatMap((object, i) => [i ? ", " : "", link(wherePage(object), object.name, { title: `${object.kind} ${object.namespace ? `${object.namespace}/` : ""}${object.name}` })]);
  return el("div", {}, el("dt", {}, all.length === 1 ? "Object" : "Objects"), el("dd", {}, shown, all.length > MOST_NAMED ? ` and ${all.length - MOST_NAMED} more` : null));
}

function acknowledgement({ by, at, note }) {
  return el("div", {}, el("dt", {}, "Acknowledged"), el("dd", {}, note || "without a note", el("span", { class: "actor" }, `${by || "somebody"} · `, timeOf(fromIso(at), inZones(fromIso(at), null, 0)[0], { digits: 0 }))));
}

/** Returns what is behind an incident or a finding, as far as it is proven. */
export const because = (cause) => (cause ? el("p", { class: "because" }, el("strong", {}, "Because"), ` ${cause}`) : null);

function body(group, births, caused, level) {
  return el("div", { class: "finding-body" },
    el("dl", { class: "facts" },
      group.cause && group.cause !== caused ? el("div", {}, el("dt", {}, "Because"), el("dd", {}, group.cause)) : null,
      group.proof.map((proof) => proofRow(proof, births)),
      el("div", {}, el("dt", {}, "Effect"), el("dd", {}, [group.effect, group.effect_text].filter(Boolean).join(": "))),
      objects(group),
      group.acknowledged ? acknowledgement(group.acknowledged) : null),
    el("p", { class: "why" }, withCode(group.why)),
    el("div", { class: "advice" }, el(level, {}, "What to do"),
      group.advice.length === 1 ? el("p", {}, withCode(group.advice[0])) : el("ul", {}, group.advice.map((line) => el("li", {}, withCode(line)))),
      el("p", { class: "onward" }, link(rulePage(group.rule), `About ${group.rule} ›`), " ", findingPage(group) ? el("a", { href: findingPage(group) }, "This finding ›") : null)));
}

function arrowButton(group, held) {
  return el("button", { type: "button", class: "hold", "data-hold": group.key, "aria-pressed": String(held), title: held ? "Unpin arrow" : "Pin arrow" },
    svg("svg", { viewBox: "0 0 18 16", width: 15, height: 13, "aria-hidden": "true" }, svg("path", { d: ARROW })),
    el("span", { class: "visually-hidden" }, "Pin arrow"));
}

/**
 * Returns a row of the findings. `births` has the creation numbers by time (µs), `held` says whether its arrow is pinned, `now`
 * is the current time (µs) of a live source, else null, `caused` is the cause that is shown of its incident, and `untitled` says that the incident's title says the same.
 */
export function row(group, { selected, held, births, now, caused, untitled }) {
  const meta = group.effect === "none" ? group.effect_text : `effect ${group.effect}`;
  const states = ["finding", group.severity, group.status, selected && "selected", group.acknowledged && "acknowledged"].filter(Boolean);
  return el("li", { class: states.join(" "), "data-finding": group.key },
    untitled && selected ? null : el("h4", {}, el("button", { type: "button", "aria-expanded": String(selected) }, group.summary)),
    el("p", { class: "verdicts" }, when(group, now), selected ? pill(group.severity) : null,
      selected || group.verdict !== "exact" ? pill(group.verdict) : null, selected || group.status !== "confirmed" ? pill(group.status, group.status) : null,
      group.acknowledged ? pill("acknowledged", "calm") : null,
      selected ? el("button", { type: "button", class: "link", "data-order": group.key, title: "Give each change the same room, in the order of the commits" }, "See the order") : el("span", { class: "meta" }, meta),
      arrowButton(group, held)),
    selected ? body(group, births, caused, untitled ? "h4" : "h5") : null);
}
