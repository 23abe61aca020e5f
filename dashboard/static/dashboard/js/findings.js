// The list of findings: grouped rows, the selected one open with its proof. It is the chart's text alternative.

import { byId, el, severityShape, withCode } from "./dom.js";
import { clock, fromIso } from "./time.js";

const pill = (text, kind = "") => el("span", { class: `pill ${kind}` }, text);

const revisionOf = (proof) => (proof.resource_version === null ? "" : ` · RV ${proof.resource_version}`);

function revisions({ proof }) {
  const known = proof.map((each) => each.resource_version).filter((revision) => revision !== null);
  if (!known.length) return "";
  return known[0] === known.at(-1) ? `RV ${known[0]}` : `RV ${known[0]} → ${known.at(-1)}`;
}

function proofRow(proof, births) {
  const number = /creat/i.test(proof.role) ? births.get(fromIso(proof.time)) : undefined;
  const where = proof.file && proof.line ? `${proof.file} line ${proof.line}` : null;
  const agent = proof.user_agent?.split(/[/ ]/)[0];
  const who = [proof.actor, agent].filter(Boolean).join(" · ");
  return el("div", { class: "proof" },
    el("dt", {}, number === undefined ? null : [el("span", { class: "birth-number" }, String(number)), " "], proof.role),
    el("dd", {},
      el("span", { class: "mono", title: [proof.time, where, proof.audit_id && `audit ID ${proof.audit_id}`].filter(Boolean).join("\n") }, `${clock(fromIso(proof.time))}${revisionOf(proof)}`),
      el("span", { class: "actor", title: proof.user_agent ?? "" }, who || "actor not recorded")));
}

function body(group, births) {
  const subjects = group.findings.map((finding) => finding.subject.name);
  return el("div", { class: "finding-body" },
    el("dl", { class: "facts" },
      group.proof.map((proof) => proofRow(proof, births)),
      subjects.length > 6 ? el("div", {}, el("dt", {}, `${subjects.length} objects`), el("dd", {}, subjects.join(", "))) : null,
      el("div", {}, el("dt", {}, "Effect"), el("dd", {}, [group.effect, group.effect_text].filter(Boolean).join(": ")))),
    el("p", { class: "why" }, withCode(group.why)),
    group.advice.length
      ? el("div", { class: "advice" }, el("h4", {}, "What to do"),
          group.advice.length === 1 ? el("p", {}, withCode(group.advice[0])) : el("ul", {}, group.advice.map((line) => el("li", {}, withCode(line)))))
      : null);
}

function row(group, selected, births) {
  const open = group.key === selected;
  const meta = [revisions(group), group.effect === "none" ? group.effect_text : `effect ${group.effect}`].filter(Boolean).join(" · ");
  return el("li", { class: `finding ${group.severity}${open ? " selected" : ""}`, "data-finding": group.key },
    el("h3", {}, el("button", { type: "button", "aria-expanded": String(open) }, severityShape(group.severity), el("span", {}, group.summary))),
    el("p", { class: "verdicts" }, pill(group.severity), pill(group.verdict), open || group.status !== "confirmed" ? pill(group.status) : null,
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
    if (chosen) this.#bringIn(chosen);
  }

  /** What it says begins at the top, so the top has to be in sight. */
  #bringIn(item) {
    const panel = byId("findings");
    const head = panel.firstElementChild.offsetHeight;
    const top = item.offsetTop - head, bottom = item.offsetTop + item.offsetHeight - panel.clientHeight;
    if (panel.scrollTop > top) panel.scrollTop = top;
    else if (panel.scrollTop < bottom) panel.scrollTop = Math.min(top, bottom);
  }

  #none() {
    return el("li", { class: "nothing" }, el("h3", {}, "No ordering violation found"),
      el("p", {}, "Every rule that this recording can prove was kept. Kinds that were not recorded were not judged."));
  }
}
