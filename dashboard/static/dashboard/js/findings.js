// The list of findings: grouped rows, the selected one open with its proof. It is the chart's text alternative.

import { byId, el, severityShape, withCode } from "./dom.js";
import { clock, duration, fromIso } from "./time.js";

const pill = (text, kind = "") => el("span", { class: `pill ${kind}` }, text);

/** 07:52:00.841, with as many digits as its clock gave, six at most. */
const clockOf = (iso) => clock(fromIso(iso), Math.min(6, Math.max(3, (/\.(\d+?)0*(?:Z|\+|$)/.exec(iso)?.[1] ?? "").length)));

const unique = (items, key) => [...new Map(items.map((item) => [key(item), item])).values()];
const revisionOf = (proof) => (proof.resource_version === null ? "" : ` · RV ${proof.resource_version}`);

function revisions(finding) {
  const known = finding.proof.map((proof) => proof.resource_version).filter((revision) => revision !== null);
  if (!known.length) return "";
  return known.length === 1 || known[0] === known.at(-1) ? `RV ${known[0]}` : `RV ${known[0]} → ${known.at(-1)}`;
}

function bounds({ delay_bounds: known }) {
  if (!known || known[0] === known[1]) return "";
  const [least, most] = known.map((seconds) => duration(seconds * 1e6));
  const [number, unit] = least.split(" ");
  return ` Known to lie between ${most.endsWith(` ${unit}`) ? number : least} and ${most}.`;
}

function proofRow(proof, births) {
  const number = births.get(fromIso(proof.time));
  const created = number && /creat/i.test(proof.role);
  const where = proof.file && proof.line ? `${proof.file} line ${proof.line}` : null;
  return el("div", { class: "proof" },
    el("dt", {}, created ? [el("span", { class: "birth-number" }, String(number)), " "] : null, proof.role),
    el("dd", {},
      el("span", { class: "mono", title: [where, proof.audit_id && `audit ID ${proof.audit_id}`].filter(Boolean).join("\n") }, `${clockOf(proof.time)}${revisionOf(proof)}`),
      el("span", { class: "actor", title: proof.user_agent ?? "" }, proof.actor ?? "actor not recorded")));
}

function effects(findings) {
  const told = unique(findings, (finding) => finding.effect + finding.effect_text);
  const each = told.length > 1;
  return told.map((finding) => el("span", { class: "effect" },
    `${each ? `${finding.subject.name}: ` : ""}${finding.effect}${finding.effect_text ? `: ${finding.effect_text}` : ""}`));
}

function body(group, births) {
  const [first] = group.findings;
  const proofs = unique(group.findings.flatMap((finding) => finding.proof), (proof) => `${proof.role} ${proof.time} ${proof.resource_version}`);
  const shared = proofs.slice(0, 12);
  const subjects = unique(group.findings.map((finding) => finding.subject), (subject) => `${subject.kind}/${subject.name}`);
  const advice = unique(group.findings.flatMap((finding) => finding.advice), String);
  return el("div", { class: "finding-body" },
    el("dl", { class: "facts" },
      shared.map((proof) => proofRow(proof, births)),
      subjects.length > 1 ? el("div", {}, el("dt", {}, `${subjects.length} ${subjects[0].kind}s`), el("dd", {}, subjects.map((subject) => subject.name).join(", "))) : null,
      el("div", {}, el("dt", {}, "Effect"), el("dd", {}, effects(group.findings)))),
    el("p", { class: "why" }, withCode(`${first.why}${bounds(first)}`)),
    advice.length
      ? el("div", { class: "advice" }, el("h4", {}, "What to do"),
          advice.length === 1 ? el("p", {}, withCode(advice[0])) : el("ul", {}, advice.map((line) => el("li", {}, withCode(line)))))
      : null);
}

function row(group, selected, births) {
  const [first] = group.findings;
  const open = group.key === selected;
  const meta = [revisions(first), first.effect_text].filter(Boolean).join(" · ");
  return el("li", { class: `finding ${group.severity}${open ? " selected" : ""}`, "data-finding": group.key },
    el("h3", {}, el("button", { type: "button", "aria-expanded": String(open) }, severityShape(group.severity), el("span", {}, group.summary))),
    el("p", { class: "verdicts" }, pill(group.severity), pill(first.verdict), open || first.status !== "confirmed" ? pill(first.status) : null,
      open ? null : el("span", { class: "meta" }, meta)),
    open ? body(group, births) : null);
}

export class Findings {
  #drawn = [];

  constructor({ onSelect }) {
    this.list = byId("finding-list");
    this.list.addEventListener("click", (event) => {
      if (getSelection()?.toString()) return; // someone copies a resource version
      const item = event.target.closest("[data-finding]");
      if (item && !event.target.closest(".finding-body")) onSelect(item.dataset.finding);
    });
  }

  draw(groups, selected, births, view) {
    const inView = groups.filter((group) => group.end >= view.start && group.start <= view.end).length;
    byId("findings-count").textContent = groups.length ? `${inView} in view · ${groups.length} in all` : "";
    const state = [groups, selected, [...births].join()];
    if (state.every((part, i) => part === this.#drawn[i])) return;
    this.#drawn = state;
    const hadFocus = this.list.contains(document.activeElement);
    this.list.replaceChildren(...(groups.length ? groups.map((group) => row(group, selected, births)) : [this.#none()]));
    const chosen = this.list.querySelector(".selected");
    if (hadFocus) chosen?.querySelector("button")?.focus({ preventScroll: true });
    chosen?.scrollIntoView({ block: "nearest" });
  }

  #none() {
    return el("li", { class: "nothing" }, el("h3", {}, "No ordering violation found"),
      el("p", {}, "Every rule that this recording can prove was kept. Kinds that were not recorded were not judged."));
  }
}
