// This module runs the toolbar above the chart: range, axis, grouping, colours and their legend, namespace, kinds.

import { byId, el } from "../draw/dom.js";
import { Actors } from "../state/actors.js";
import { plural } from "../state/amounts.js";
import { clock, day, digitsFor, inZones, shortRange } from "../state/time.js";
import { zone } from "../state/zone.js";
import { Legend } from "./legend.js";

const ORDER = ["Jobs", "Services", "Pods", "Claims", "Leases", "Endpoints", "Groups", "Workloads", "Config", "Network", "Other", "Events", "Cluster"];
const rank = (family) => (ORDER.includes(family) ? ORDER.indexOf(family) : ORDER.length);
const MOST = 6; // the most kinds that are shown side by side
const PHONE = matchMedia("(width < 720px)"); // innerWidth would make the browser compute the layout

export class Toolbar {
  #chips = [];
  #filled = "";

  constructor({ store }) {
    this.store = store;
    this.actors = new Actors();
    this.legend = new Legend({ store, actors: this.actors });
    byId("axis-choice").addEventListener("change", ({ target }) => store.set({ axis: target.value }, { push: true }));
    byId("group").addEventListener("change", ({ target }) => {
      byId("bench").scrollTop = 0; // no lane keeps its place in another order
      store.set({ group: target.value, closed: [], offset: 0 }, { push: true });
    });
    byId("colour").addEventListener("click", () => this.colour());
    byId("namespace").addEventListener("change", ({ target }) => store.set({ namespace: target.value, offset: 0 }, { push: true }));
    for (const id of ["chips", "more-kinds"]) {
      byId(id).addEventListener("click", ({ target }) => {
        const kind = target.closest("[data-kind]")?.dataset.kind;
        if (kind) store.toggle("kinds", kind, { offset: 0 });
      });
    }
    new ResizeObserver(() => this.fit()).observe(byId("toolbar"));
  }

  /** Fills the menus with the kinds and namespaces of the source. */
  fill({ families, namespaces, actors }) {
    this.actors.take(actors);
    const filled = JSON.stringify([families.map(([family]) => family), namespaces.map(([name]) => name)]);
    if (filled === this.#filled) return;
    this.#filled = filled;
    this.#chips = families.toSorted((a, b) => rank(a[0]) - rank(b[0])).map(([family, lanes]) =>
      el("button", { type: "button", class: "chip", "data-kind": family, "aria-pressed": "false", title: plural(lanes, "lane") },
        el("span", { class: `swatch family-${family.toLowerCase()}`, "aria-hidden": "true" }), family));
    byId("namespace").replaceChildren(byId("namespace").firstElementChild, ...namespaces.map(([name, lanes]) => el("option", { value: name }, `${name} (${lanes})`)));
    this.fit();
    this.draw(null);
  }

  /** Shows as many kinds as there is space for, and the others in a menu. */
  fit() {
    const chips = byId("chips"), more = byId("more-kinds"), button = byId("kinds-more");
    const place = (shown) => {
      chips.replaceChildren(...this.#chips.slice(0, shown));
      more.replaceChildren(...this.#chips.slice(shown));
      button.hidden = shown >= this.#chips.length;
      button.textContent = `+${this.#chips.length - shown}`;
      button.setAttribute("aria-label", `${this.#chips.length - shown} more kinds`);
    };
    const bars = [byId("toolbar"), chips.parentNode]; // for a live source the second one may be in a row of its own
    const over = () => bars.some((bar) => bar.scrollWidth > bar.clientWidth);
    let shown = Math.min(MOST, this.#chips.length);
    place(shown);
    if (chips.closest("#sheet")) return place(this.#chips.length);
    while (shown > 1 && over()) place(--shown);
  }

  /** Gives what is drawn the colours of actors, or of kinds again. */
  colour() {
    this.store.set({ colour: this.store.colour === "actor" ? "kind" : "actor" }, { push: true });
  }

  /** Shows the state of the store. `payload` is the loaded window, or null. */
  draw(payload) {
    const { store } = this;
    if (payload) this.legend.draw(payload);
    const { start, end } = store.view();
    const digits = digitsFor(end - start);
    byId("day").textContent = day(start);
    byId("range").textContent = PHONE.matches ? shortRange(start, end) : `${clock(start, digits)} – ${clock(end, digits)}`;
    const zoned = zone().labelOf(start, end), label = byId("zone");
    if (label.textContent !== zoned) {
      label.textContent = zoned;
      this.fit(); // the kinds beside it have less or more space
    }
    byId("range").parentElement.title = inZones(start, null, digits).map((from, i) => `${from} – ${inZones(end, null, digits)[i]}`).join("\n");
    const namespace = byId("namespace");
    namespace.value = store.namespace;
    if (!namespace.selectedOptions.length) { // the source has nothing in it
      namespace.append(el("option", { value: store.namespace }, `${store.namespace} (0)`));
      namespace.value = store.namespace;
    }
    byId("group").value = store.group;
    byId("colour").setAttribute("aria-pressed", String(store.colour === "actor"));
    for (const choice of byId("axis-choice").querySelectorAll("input")) choice.checked = choice.value === store.axis;
    for (const chip of this.#chips) chip.setAttribute("aria-pressed", String(store.kinds.includes(chip.dataset.kind)));
    byId("fit").disabled = !store.finding;
  }
}
