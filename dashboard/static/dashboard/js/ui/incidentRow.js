// This module makes a row of the list of incidents. The open one shows its findings.

import { el, severityShape } from "../draw/dom.js";
import { plural } from "../state/amounts.js";
import { incidentPage } from "../state/links.js";
import { symptomsOf } from "../state/ordering.js";
import { age, clock, day } from "../state/time.js";
import { placeOf } from "../state/window.js";
import { because, pill, row as findingRow } from "./findingRow.js";
import { timeOf } from "./timeOf.js";

/** Returns when an incident happened, and, for a live source, how long ago that was last at `now` (µs). */
function when({ start, end, occurrences }, now) {
  const shown = now === null || occurrences === 1 ? start : end;
  const today = now !== null && day(now) === day(shown);
  return timeOf(shown, [`${today ? "" : `${day(shown)} `}${clock(shown, 0)}`, now === null ? null : [" · ", el("span", { "data-ago": String(end) }, age(now - end))]].flat(),
    { digits: 0, class: "when" });
}

/** Returns the rows of findings. `said` is the title above them. */
const rows = (groups, incident, said, options) => el("ol", { class: "rows", "aria-label": "Findings of this incident" }, groups.map((group) => findingRow(group, {
  selected: group.key === options.selected, held: options.held.includes(group.key), births: options.births, now: options.now, caused: incident.cause, untitled: groups.length === 1 && group.summary === said,
})));

/** Returns the symptoms of an incident that has several. That of the selected finding shows its findings, the others are folded. */
function folded(incident, groups, options) {
  const { symptoms, symptoms_total: total } = incident;
  const chosen = groups.find(({ key }) => key === options.selected);
  const open = symptoms.find(({ id }) => chosen?.symptoms?.includes(id));
  const items = symptoms.map((symptom) => el("li", { class: `symptom ${symptom.severity}${symptom === open ? " open" : ""}` },
    el("h4", {}, el("button", { type: "button", "data-symptom": symptom.id, "aria-current": symptom === open ? "true" : null }, severityShape(symptom.severity), el("span", {}, symptom.title), el("span", { class: "meta" }, plural(symptom.findings, "finding")))),
    symptom === open ? rows(groups.filter((group) => group.symptoms?.includes(symptom.id)), incident, symptom.title, options) : null));
  const further = total - symptoms.length;
  return [
    el("ol", { class: "symptom-list", "aria-label": "Symptoms of this incident" }, items),
    further ? el("p", { class: "soft rows-wait" }, `and ${plural(further, "further symptom")}`) : null,
    chosen && !open ? rows([chosen], incident, "", options) : null,
  ];
}

/** Returns what the open incident shows: its symptoms and findings, or that they are loading. */
function findings(incident, shown, options) {
  if (!shown) return el("p", { class: "soft rows-wait" }, "Loading its findings…");
  const alone = incident.id === options.alone;
  return [
    because(incident.cause),
    el("p", { class: "rows-wait" }, el("button", { type: "button", class: "link", "data-alone": incident.id, title: "What the incident begins with comes first, then what it reached" }, alone ? "Show all lanes" : "Show this incident alone")),
    symptomsOf(incident) > 1 ? folded(incident, shown.groups, options) : rows(shown.groups, incident, shown.more ? "" : incident.title, options),
    shown.more ? el("p", { class: "further" }, el("button", { type: "button", class: "button", "data-more-rows": incident.id }, "Show more of its findings")) : null,
  ];
}

/**
 * Returns a row of the list. `open` says whether its findings are shown, which are `shown` ({groups, more}, or null while they
 * are loading). `options` are as findingRow.js has them; `now` is the current time (µs) of a live source, else null.
 */
export function row(incident, { open, shown, options }) {
  const { severity, status, state, acknowledged, silenced, occurrences, findings: count, id, name, title } = incident;
  const states = ["incident", severity, status, open && "open", (acknowledged || silenced) && "acknowledged"].filter(Boolean);
  return el("li", { class: states.join(" "), "data-incident": id },
    el("h3", {}, el("button", { type: "button", "aria-expanded": String(open) }, severityShape(severity), el("span", {}, title))),
    el("p", { class: "verdicts" },
      state === "ongoing" ? pill(options.now === null ? "ongoing when the recording ends" : "ongoing", "ongoing") : pill("over"),
      when(incident, options.now), status === "suspected" ? pill("suspected", "suspected") : null,
      acknowledged ? pill("acknowledged", "calm") : null, silenced ? pill("silenced", "calm") : null,
      el("span", { class: "meta" }, [placeOf(incident), symptomsOf(incident) > 1 ? plural(symptomsOf(incident), "symptom") : occurrences > 1 && !title.endsWith("times") ? plural(occurrences, "time") : "", plural(count, "finding"), incident.cause && !open ? "cause known" : ""].filter(Boolean).join(" · ")),
      el("span", { class: "incident-name", title: "The name of this incident. Its address ends with it, or with more of it." }, name)),
    ...(open ? [findings(incident, shown, options), incidentPage(incident) ? el("p", { class: "onward" }, el("a", { href: incidentPage(incident) }, "This incident ›")) : null].flat() : []));
}
