// This module shows whose changes have which colour. Each entry with one actor is a button that filters by that actor.

import { byId, el } from "../draw/dom.js";
import { NOBODY, actorName } from "../state/actors.js";
import { plural } from "../state/amounts.js";

export class Legend {
  #written = "";

  constructor({ store, actors }) {
    Object.assign(this, { store, actors });
    byId("legend").addEventListener("click", ({ target }) => {
      const actor = target.closest("[data-actor]")?.dataset.actor;
      if (actor !== undefined) store.set({ actor: store.actor === actor ? "" : actor, offset: 0 }, { push: true });
    });
  }

  /** Shows the actors of a loaded window if actors have colours. */
  draw(payload) {
    const { store, actors } = this;
    const bar = byId("legend"), on = store.colour === "actor";
    const entries = on ? actors.legend(payload) : [];
    document.body.dataset.colour = store.colour;
    bar.hidden = !on;
    const written = JSON.stringify([entries, store.actor]);
    if (written === this.#written) return;
    this.#written = written;
    const swatch = (hue) => el("span", { class: `swatch family-${hue.toLowerCase()}`, "aria-hidden": "true" });
    bar.replaceChildren(el("span", { class: "legend-title" }, "Colours of actors"), ...entries.map(({ actor, others, hue }) =>
      (others
        ? el("span", { class: "legend-entry", title: others.map(actorName).join("\n") }, swatch(hue), `${plural(others.length, "other")}`)
        : el("button", { type: "button", class: "legend-entry", "data-actor": actor, "aria-pressed": String(store.actor === actor), title: `Show only what ${actor === NOBODY ? "somebody unknown" : actor} changed` }, swatch(hue), actorName(actor)))));
  }
}
