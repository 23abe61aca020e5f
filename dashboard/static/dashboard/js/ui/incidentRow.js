// This module makes a row of the list of incidents. The open one shows its findings.

import { el, severityShape } from "../draw/dom.js";
import { plural } from "../state/amounts.js";
import { incidentPage } from "../state/links.js";
import { age, clock, day } from "../state/time.js";
import { because, pill, row as findingRow } from "./findingRow.js";
import { timeOf } from "./timeOf.js";

/** Returns when an incident happened, and, for a live source, how long ago that was last at `now` (µs). */
function when({ start, end, occurrences }, now) {
  const shown = now === null || occurrences === 1 ? start : end;
  const today = now !== null && day(now) === day(shown);
  return timeOf(shown, [`${today ? "" : `${day(shown)} `}${clock(shown, 0)}`, now === null ? null : [" · ", el("span", { "data-ago": String(end) }, age(now - end))]].flat(),
    { digits: 0, class: "when" });
}

const place = ({ anchor: { namespace, kind, name } }) => [namespace, `${kind} ${name}`].filter(Boolean).join(" / ");

/** Returns what the open incident shows: its findings, or that they are loading. */
function findings(incident, shown, options) {
  if (!shown) return el("p", { class: "soft rows-wait" }, "Loading its findings…");
  const one = shown.groups.length === 1 && !shown.more;
  return [
    because(incident.cause),
    el("ol", { class: "rows", "aria-label": "Findings of this incident" }, shown.groups.map((group) => findingRow(group, {
      selected: group.key === options.selected, held: options.held.includes(group.key), births: options.births, now: options.now, caused: incident.cause, untitled: one && group.summary === incident.title,
    }))),
    shown.more ? el("p", { class: "further" }, el("button", { type: "button", class: "button", "data-more-rows": incident.id }, "Show more of its findings")) : null,
  ];
}

/**
 * Returns a row of the list. `number` is the number that the incident keeps while the page is open. `open` says whether its
 * findings are shown, which are `shown` ({groups, more}, or null while they are loading). `options` are as findingRow.js has
 * them; `now` is the current time (µs) of a live source, else null.
 */
export function row(incident, { number, open, shown, options }) {
  const { severity, status, state, acknowledged, silenced, occurrences, findings: count, id, title } = incident;
  const states = ["incident", severity, status, open && "open", (acknowledged || silenced) && "acknowledged"].filter(Boolean);
  return el("li", { class: states.join(" "), "data-incident": id },
    el("h3", {}, el("button", { type: "button", "aria-expanded": String(open) }, severityShape(severity), el("span", {}, title))),
    el("p", { class: "verdicts" },
      state === "ongoing" ? pill(options.now === null ? "ongoing when the recording ends" : "ongoing", "ongoing") : null,
      when(incident, options.now), status === "suspected" ? pill("suspected", "suspected") : null,
      acknowledged ? pill("acknowledged", "calm") : null, silenced ? pill("silenced", "calm") : null,
      el("span", { class: "meta" }, [place(incident), occurrences > 1 && !title.endsWith("times") ? plural(occurrences, "time") : "", plural(count, "finding"), incident.cause && !open ? "cause known" : ""].filter(Boolean).join(" · ")),
      el("span", { class: "number", title: "The number of this incident on this page" }, `#${number}`)),
    ...(open ? [findings(incident, shown, options), incidentPage(incident) ? el("p", { class: "onward" }, el("a", { href: incidentPage(incident) }, "This incident ›")) : null].flat() : []));
}
