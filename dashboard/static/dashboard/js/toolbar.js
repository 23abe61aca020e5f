// The controls above the chart: range, namespace, kinds.

import { byId, el } from "./dom.js";
import { clock, day, digitsFor, shortRange } from "./time.js";

const SHOWN = 6;
const ORDER = ["Jobs", "Services", "Pods", "Claims", "Leases", "Endpoints", "Groups", "Workloads", "Config", "Network", "Other", "Events", "Cluster"];
const rank = (family) => (ORDER.includes(family) ? ORDER.indexOf(family) : ORDER.length);

export class Toolbar {
  constructor({ store, onReset, onFit }) {
    this.store = store;
    byId("reset").addEventListener("click", onReset);
    byId("fit").addEventListener("click", onFit);
    byId("namespace").addEventListener("change", (event) => store.set({ namespace: event.target.value, offset: 0 }, { push: true }));
    byId("chips").addEventListener("click", (event) => {
      const kind = event.target.closest("[data-kind]")?.dataset.kind;
      if (!kind) return;
      const kinds = store.kinds.includes(kind) ? store.kinds.filter((other) => other !== kind) : [...store.kinds, kind];
      store.set({ kinds, offset: 0 }, { push: true });
    });
    const copy = byId("copy");
    if (copy && navigator.clipboard) {
      copy.hidden = false;
      copy.addEventListener("click", async () => {
        await navigator.clipboard.writeText(location.origin + location.pathname + store.search()); // the address lies behind a little
        copy.textContent = "Copied";
        setTimeout(() => (copy.textContent = "Copy link"), 1500);
      });
    }
  }

  /** Once, with what the source holds. */
  fill({ families, namespaces }) {
    const chips = families.toSorted((a, b) => rank(a[0]) - rank(b[0])).map(([family, lanes]) =>
      el("button", { type: "button", class: "chip", "data-kind": family, "aria-pressed": "false", title: `${lanes} lane${lanes === 1 ? "" : "s"}` },
        el("span", { class: `swatch family-${family.toLowerCase()}`, "aria-hidden": "true" }), family));
    byId("chips").append(...chips.slice(0, SHOWN));
    if (chips.length > SHOWN) {
      byId("chips").append(
        el("button", { type: "button", class: "button more", popovertarget: "more-kinds", "aria-label": `${chips.length - SHOWN} more kinds` }, `+${chips.length - SHOWN}`),
        el("div", { id: "more-kinds", popover: "auto", class: "chips popover" }, chips.slice(SHOWN)));
    }
    byId("namespace").append(...namespaces.map(([name, lanes]) => el("option", { value: name }, `${name} (${lanes})`)));
    this.draw();
  }

  draw() {
    const { store } = this;
    const { start, end } = store.view();
    const digits = digitsFor(end - start);
    byId("day").textContent = day(start);
    byId("range").textContent = innerWidth < 720 ? shortRange(start, end) : `${clock(start, digits)} – ${clock(end, digits)}`;
    byId("namespace").value = store.namespace;
    for (const chip of byId("chips").querySelectorAll("[data-kind]")) chip.setAttribute("aria-pressed", String(store.kinds.includes(chip.dataset.kind)));
    byId("fit").disabled = !store.finding;
  }
}
