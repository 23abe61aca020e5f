// This module makes the labels beside the lanes, and the headings above them.

import { plural } from "../state/amounts.js";
import { objectPage } from "../state/links.js";
import { el, svg } from "./dom.js";
import { ALONE } from "./layout.js";

const PIN = "M9.5 1.5 14.5 6.5 11.5 7.5 8.5 10.5 8 14 2 8 5.5 7.5 8.5 4.5zM5 11 1.5 14.5";

const badge = (lane) => el("span", { class: `badge family-${lane.family.toLowerCase()}` }, lane.short);

function pinButton(lane, reachable) {
  const button = el("button", { type: "button", class: "pin", "data-pin": lane.key, "aria-pressed": String(lane.pinned), "aria-label": `Keep ${lane.name} on top`, title: "Keep on top (k)", tabindex: reachable ? null : "-1" });
  button.append(svg("svg", { viewBox: "0 0 16 16", width: 13, height: 13, "aria-hidden": "true" }, svg("path", { d: PIN })));
  return button;
}

function stripToggle(lane, reachable) {
  return el("button", { type: "button", class: "strip-toggle", "data-strip": lane.key, "aria-expanded": String(lane.opened), "aria-label": `The ${lane.members} lanes of this strip`, tabindex: reachable ? null : "-1" },
    el("span", { "aria-hidden": "true" }, lane.opened ? "▾" : "▸"));
}

const wordsOf = (logs) => (logs.length === 1 ? `log of ${logs[0].label}` : plural(logs.length, "log"));
const openIn = (logs, open) => logs.some(({ log }) => open.has(log));

function logToggle(lane, logs, open, reachable) {
  const words = `${wordsOf(logs)} in ${lane.name}`;
  return el("button", { type: "button", class: "log-toggle", "data-logs": logs.map(({ log }) => log).join(","), "aria-expanded": String(openIn(logs, open)), "aria-label": words, title: words, tabindex: reachable ? null : "-1" },
    el("span", { "aria-hidden": "true" }, "≡"));
}

/** Returns the label of a log that is opened. Its name opens the first line in view. */
export const logLabel = ({ log, label, name, lines }) =>
  el("li", { class: "log-lane", "data-log": log }, el("button", { type: "button", class: "link log-name", "data-line": log, title: `${name}\nThe first line in view` }, el("bdi", {}, label)),
    el("span", { class: "lane-about" }, plural(lines, "line")));

/** Returns the heading above the logs without a lane. */
export const logsHeading = (logs, open) =>
  el("h2", { class: "group" },
    el("button", { type: "button", class: "group-toggle", "data-logs": logs.map(({ log }) => log).join(","), "aria-expanded": String(openIn(logs, open)) },
      el("span", { class: "group-arrow", "aria-hidden": "true" }, openIn(logs, open) ? "▾" : "▸"), el("span", { class: "group-name" }, "logs"),
      el("span", { class: "group-about" }, `${logs.length}, of no Pod that is shown`)));

/**
 * Returns the label of a lane. The options say whether it is the selected lane (`current`), whether the Tab key reaches its
 * controls (`reachable`), whether its creation number is shown (`numbered`), and whether the heading shows its namespace
 * (`placed`).
 */
export function label(lane, { current, reachable, numbered, placed, logs = [], open = new Set() }) {
  const strip = lane.members > 1;
  const page = objectPage(lane.track);
  const about = [placed ? "" : lane.namespace, lane.subtitle].filter(Boolean).join(" · ");
  const name = el("bdi", {}, strip ? `${lane.members} × ${lane.short}` : lane.name);
  return el("li", { class: ["lane", current && "current", strip && "strip", lane.strip && "member", lane.quiet && "quiet"].filter(Boolean).join(" "), "data-lane": lane.key },
    el("span", { class: "lane-number" }, numbered && !strip ? String(lane.number) : ""), badge(lane),
    el("span", { class: "lane-words", title: `${lane.namespace ? `${lane.namespace}/` : ""}${lane.name}\n${lane.subtitle}` },
      page ? el("a", { class: "lane-name", href: page, tabindex: reachable ? null : "-1" }, name)
        : el("span", { class: "lane-name", tabindex: reachable ? "0" : "-1" }, name),
      el("span", { class: "lane-about" }, about)),
    logs.length ? logToggle(lane, logs, open, reachable) : null,
    strip ? stripToggle(lane, reachable) : pinButton(lane, reachable));
}

/** Returns the label of the view of an actor. Its name opens the act on the oldest copy. */
export function viewLabel({ actor, kind, name, worst, others, key, uses, place }) {
  const oldest = uses.reduce((best, use, at) => (use.unseen && (best < 0 || use.least > uses[best].least) ? at : best), -1);
  return el("li", { class: "view-label" },
    el("span", { class: "badge", "aria-hidden": "true" }, "view"),
    el("span", { class: "lane-words" },
      el("button", { type: "button", class: "lane-name", "data-use": `${place}.${oldest}`, title: `On which copies of ${kind} ${name} it acted` }, `seen by ${actor}`),
      el("span", { class: "lane-about" }, `oldest copy ${worst}`)),
    others ? el("button", { type: "button", class: "strip-toggle", "data-strip": key, "aria-label": `${others} further actors`, title: `${others} further actors` }, el("span", { "aria-hidden": "true" }, `+${others}`)) : null);
}

/** Returns the button that shows or hides folded lanes: those of the group with this key, or of all groups for "*". */
export const folding = (key, words, opened) =>
  el("button", { type: "button", class: "folded", "data-folded": key, "aria-expanded": String(opened) },
    el("span", { class: "group-arrow", "aria-hidden": "true" }, opened ? "▾" : "▸"), el("span", {}, words));

/** Returns the heading above a group, or above neighbouring lanes without a group. `again` says that more lanes of the group are further down. */
export function heading(run, lanes, first, again) {
  const [group] = run.groups;
  const alone = run.key === ALONE;
  const all = alone ? run.groups.length : group.lanes;
  const shown = run.lanes.reduce((sum, lane) => sum + (lanes[lane].opened ? 0 : lanes[lane].members), 0);
  const count = run.closed || shown === all ? plural(all, "lane") : `${shown} of ${plural(all, "lane")}`;
  const owned = run.groups.some(({ short }) => short !== "");
  const kinds = [...new Set(run.groups.map(({ short }) => short))];
  const name = alone ? `${kinds.slice(0, 3).join(", ")}${kinds.length > 3 ? ", …" : ""} without owner` : [group.short, group.label].filter(Boolean).join(" ");
  return el("h2", { class: "group" },
    el("button", { type: "button", class: "group-toggle", "data-group": run.groups.map(({ key }) => key).join(","), "aria-expanded": String(!run.closed) },
      el("span", { class: "group-arrow", "aria-hidden": "true" }, run.closed ? "▸" : "▾"),
      el("span", { class: "group-name" }, name),
      el("span", { class: "group-about" }, [alone ? "" : group.namespace, again ? `${shown} around the finding` : count].filter(Boolean).join(" · "))),
    alone || group.short === "" ? null : el("button", { type: "button", class: "link group-scope", "data-scope": group.key, title: `Show only ${name}, what it owns, and their incidents` }, "Focus"),
    first && owned && !run.closed ? el("span", { class: "group-hint" }, "numbers are the order of creation, as on the circles") : null);
}
