// This module runs the menu of filters, and shows the active filters, each with a button that removes it.

import { byId, el } from "../draw/dom.js";
import { NOBODY, actorName } from "../state/actors.js";
import { plural } from "../state/amounts.js";

const WAIT = 250; // ms after the last letter is typed

const KINDS = ["deployment", "statefulset", "daemonset", "replicaset", "job", "node", "configmap"]; // of families that have several

const WORDS = {
  kinds: (kinds) => (kinds.length === 1 ? `kind: ${kinds[0]}` : `kinds: ${kinds.join(", ")}`),
  kind: (kind) => `kind: ${kind.join(", ")}`,
  node: (node) => `node: ${node}`,
  image: (image) => `image contains “${image}”`,
  state: (state) => `incidents that are ${state === "over" ? "over" : "open"}`,
  namespace: (namespace) => `namespace: ${namespace}`,
  name: (name) => `name contains “${name}”`,
  rule: (rule) => `rule: ${rule}`,
  severity: (severity) => `severity: ${severity}`,
  actor: (actor) => `actor: ${actorName(actor)}`,
  noise: () => "with noise",
  active: () => "only what changes from here on",
};

export class Filters {
  #timer = 0;
  #actors = []; // [actor, number of changes]
  #known = {}; // values of terms of a search
  #scope = ""; // the name of the object to which lanes and incidents are limited

  /** `incident(id)` returns a loaded incident. */
  constructor({ store, incident }) {
    Object.assign(this, { store, incident });
    this.name = byId("filter-name");
    const take = () => {
      clearTimeout(this.#timer);
      if (this.name.value.trim() !== store.name) store.set({ name: this.name.value.trim(), offset: 0 });
    };
    this.name.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(take, WAIT);
    });
    this.name.addEventListener("change", take); // the user goes on to another field before the wait is over
    for (const name of ["rule", "severity", "actor"]) byId(`filter-${name}`).addEventListener("change", ({ target }) => store.set({ [name]: target.value, offset: 0 }, { push: true }));
    for (const name of ["noise", "active"]) byId(`filter-${name}`).addEventListener("change", ({ target }) => store.set({ [name]: target.checked, offset: 0 }, { push: true }));
    byId("filtered").addEventListener("click", ({ target }) => {
      const name = target.closest("[data-clear]")?.dataset.clear;
      if (name === undefined) return;
      clearTimeout(this.#timer);
      if (name === "focus" || name === "incident") store.set({ [name]: "", offset: 0 }, { push: true });
      else store.clear(name || null);
      byId("filter-open").focus();
    });
    byId("filter-clear").addEventListener("click", () => store.clear());
  }

  /** Fills the menu with what the source contains. */
  fill({ rules, severity_counts: severities, actors, noise, families, namespaces }) {
    this.#known = { kind: [...families.map(([family]) => family.toLowerCase()), ...KINDS], ns: namespaces.map(([name]) => name), rule: rules.map(([rule]) => rule), actor: actors.map(([name]) => name || NOBODY) };
    const options = (counts) => counts.map(([value, count]) => el("option", { value }, `${value} (${count})`));
    for (const [id, counts] of [["filter-rule", rules], ["filter-severity", severities]]) byId(id).replaceChildren(byId(id).firstElementChild, ...options(counts));
    this.#actors = actors;
    this.#offer();
    byId("noise-count").textContent = noise ? `(${plural(noise, "lane")})` : "(none here)";
    this.draw();
  }

  /** Returns the values by which terms of a search can be completed (see terms.js): those of the source, and the nodes of Pods in a window. */
  choices(payload) {
    const nodes = (payload?.lanes ?? []).filter(({ kind, group }) => kind === "Pod" && group).map(({ subtitle }) => subtitle.split(" · ")[1] ?? "");
    return { ...this.#known, node: [...new Set(nodes)].filter((name) => name && !/incarnation/.test(name)).sort() };
  }

  /** Fills the menu of actors, with that of the filter also if it is not among the most frequent ones. */
  #offer() {
    const { actor } = this.store, menu = byId("filter-actor");
    const named = this.#actors.map(([name, changes]) => [name || NOBODY, changes]);
    const all = actor && !named.some(([name]) => name === actor) ? [[actor, 0], ...named] : named;
    menu.replaceChildren(menu.firstElementChild, ...all.map(([name, changes]) => el("option", { value: name, title: name }, `${actorName(name)}${changes ? ` (${changes})` : ""}`)));
    menu.value = actor;
  }

  /** Takes the name of the root owner to which lanes and incidents are limited ({kind, name}), or null. */
  scope(scope) {
    this.#scope = scope ? `${scope.kind} ${scope.name}` : "";
    this.draw();
  }

  draw() {
    const { store } = this;
    const active = store.filtered();
    if (document.activeElement !== this.name) this.name.value = store.name;
    byId("filter-rule").value = store.rule;
    byId("filter-severity").value = store.severity;
    if (byId("filter-actor").value !== store.actor) this.#offer();
    byId("filter-noise").checked = store.noise;
    byId("filter-active").checked = store.active;
    byId("filter-clear").disabled = active.length === 0;
    byId("filter-open").classList.toggle("on", active.some((name) => name !== "kinds" && name !== "namespace"));
    const alone = store.incident ? [["incident", `incident: ${this.incident(store.incident)?.title ?? "one incident"}`]] : [];
    const written = [...alone, ...(store.focus ? [["focus", `focus: ${this.#scope || "one object"}`]] : []), ...active.map((name) => [name, WORDS[name](store[name])])];
    const bar = byId("filtered");
    if (bar.dataset.written === JSON.stringify(written)) return;
    bar.dataset.written = JSON.stringify(written);
    bar.hidden = written.length === 0;
    bar.replaceChildren(
      ...written.map(([name, words]) => el("button", { type: "button", class: `token ${name}`, title: words, "data-clear": name, "aria-label": `Remove the filter ${words}` }, words, el("span", { "aria-hidden": "true" }, "✕"))),
      ...(active.length > 1 ? [el("button", { type: "button", class: "token all", "data-clear": "" }, "Clear all")] : []));
  }
}
