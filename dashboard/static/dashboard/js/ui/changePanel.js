// This module shows one change of an object beside the lanes: when, who wrote it, and what it changed. The address holds
// which one it is.

import { byId, el } from "../draw/dom.js";
import { clock, day, instant } from "../state/time.js";
import { zone } from "../state/zone.js";
import { difference } from "./difference.js";
import { timeOf } from "./timeOf.js";

/** Returns the bounds of the time of a change in words; "" if it is exact. */
function bounds({ at, within }) {
  if (!within) return "";
  const [before, after] = within;
  if (after === null) return `not before ${clock(at - before, (at - before) % 1e6 ? 6 : 0)}`;
  return before + after ? `committed between ${clock(at - before, 6)} and ${clock(at + after, 6)}` : "";
}

function writer({ actor, user_agent: agent, controller, unknown_writer: why }) {
  if (why) return ["writer not known", el("span", { class: "actor" }, why)];
  const { source } = document.body.dataset; // a report has none, and no page of actors
  const name = controller || actor || agent;
  return [source ? el("a", { href: `/sources/${source}/actors/?q=${encodeURIComponent(agent || actor)}` }, name) : name, ...[actor, agent].filter((each) => each && each !== controller).map((each) => el("span", { class: "actor" }, each))];
}

function body(found) {
  const row = (name, ...parts) => el("div", {}, el("dt", {}, name), el("dd", {}, parts));
  const soft = (words) => (words ? el("span", { class: "actor" }, words) : null);
  return [
    el("dl", { class: "facts" },
      row("Time", timeOf(found.at, `${day(found.at)} ${instant(found.at, found.within)} ${zone().label(found.at)}`, { within: found.within, class: "mono" }), soft(bounds(found))),
      row("Revision", found.resource_version ? el("span", { class: "mono" }, `RV ${found.resource_version}`) : "not observed"),
      row("Writer", ...writer(found))),
    el("h3", {}, found.whole ? "The object as it was first seen" : "What it changed"),
    ...found.notes.map((note) => el("p", { class: "said" }, note)),
    difference(found),
    found.url ? el("p", { class: "onward" }, found.revision_url ? el("a", { href: found.revision_url }, "The object at this revision ›") : null, el("a", { href: found.url }, "All its changes ›")) : null,
  ].flat();
}

export class ChangePanel {
  #asked = 0; // the number of requests so far, by which answers to older ones are recognised and ignored
  #key = ""; // what the panel shows, or is loading, as the address has it
  #from = null; // the element that had the focus before the panel was opened
  found = null; // the change that is shown

  /** `ask(track, question)` → the change of a track with a `sequence`, or that at a time `at` with a `revision`. `onShown(found)` is called when another change is shown. */
  constructor({ store, ask, onShown, onFailed, announce }) {
    Object.assign(this, { store, ask, onShown, onFailed, announce });
    this.panel = byId("change");
    document.addEventListener("zonechange", () => this.found && this.#fill(this.found));
    byId("change-close").addEventListener("click", () => this.close());
    byId("change-earlier").addEventListener("click", () => this.step(-1));
    byId("change-later").addEventListener("click", () => this.step(1));
  }

  /** Shows the change of an event of the lanes: {track, time (µs), revision (null if it is not known)}. */
  async open({ track, time, revision }) {
    if (this.panel.hidden) this.#from = document.activeElement;
    if (await this.#load(track, { at: time, revision })) this.panel.focus({ preventScroll: true });
  }

  /** Shows the next change of the object (`by` 1) or the previous one (-1). */
  step(by) {
    const { found } = this;
    const sequence = found && (by > 0 ? found.later : found.earlier);
    if (sequence !== null) return this.#load(found.track, { sequence });
    this.announce(by > 0 ? "This object has no later change." : "This object has no earlier change.");
  }

  /** Closes the panel. The focus returns to where it was. Returns false if the panel was closed already. */
  close() {
    if (!this.store.change) return false;
    const lane = `[data-lane="${CSS.escape(this.found?.lane ?? "")}"] .lane-name`; // labels are made anew while the panel is open
    this.store.set({ change: "" }, { push: true });
    this.draw();
    const back = this.#from?.isConnected && this.#from !== document.body ? this.#from : document.querySelector(lane) ?? byId("bench");
    back.focus({ preventScroll: true });
    return true;
  }

  /** Brings the panel in line with the address. */
  draw() {
    const { change } = this.store;
    if (change === this.#key) return;
    this.#key = change;
    const [, track, sequence] = /^(\d{1,18})\.(\d{1,18})$/.exec(change) ?? [];
    if (track) return void this.#load(Number(track), { sequence });
    this.#asked += 1;
    this.found = null;
    this.panel.hidden = true;
  }

  /** Loads the change again if its object is among these tracks, because it may have later ones now. */
  async renew(tracks) {
    const { found } = this;
    if (!found || !tracks.some(({ track }) => track === found.track)) return;
    const asked = this.#asked;
    try {
      const now = await this.ask(found.track, { sequence: found.sequence });
      if (asked === this.#asked) this.#fill(now);
    } catch { /* what is shown stays; the next change asks again */ }
  }

  async #load(track, question) {
    const asked = ++this.#asked;
    let found;
    try {
      found = await this.ask(track, question);
    } catch (error) {
      if (asked === this.#asked) this.onFailed(error);
      return false;
    }
    if (asked !== this.#asked) return false;
    const key = (this.#key = `${found.track}.${found.sequence}`);
    this.#fill(found);
    if (this.store.change !== key) this.store.set({ change: key, lane: found.lane }, { push: true });
    this.onShown(found);
    this.announce(`${byId("change-title").textContent}, ${instant(found.at, found.within)} ${zone().label(found.at)}, change ${found.number} of ${found.total}`);
    return true;
  }

  #fill(found) {
    const { object, change, action, number, total } = found;
    this.found = found;
    byId("change-title").textContent = `${object.kind} ${object.name}: ${[change, action].filter(Boolean).join(", ")}`;
    byId("change-place").textContent = `${number} of ${total}`;
    byId("change-earlier").disabled = found.earlier === null;
    byId("change-later").disabled = found.later === null;
    const open = byId("change-body").querySelector("details")?.open ?? false; // a reader who unfolds one change goes on reading
    byId("change-body").replaceChildren(...body(found).filter(Boolean));
    const folded = byId("change-body").querySelector("details");
    if (folded) folded.open = open;
    if (this.panel.hidden) byId("change-body").scrollTop = 0;
    this.panel.hidden = false;
  }
}
