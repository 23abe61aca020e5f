// This module shows the copy on which an actor acted as a difference to what stood when it acted: beside the tooltip while
// the pointer is on the act, and beside the lanes when the act was chosen.

import { byId, el } from "../draw/dom.js";
import { copy } from "../state/api.js";
import { comparison } from "./copies.js";

const FIRST = 14; // lines of a difference below the tooltip

export class CopyPanel {
  #known = new Map(); // the answers so far, by path and revisions
  #hovered = ""; // the act under the pointer
  #from = null; // the element that had the focus before the panel was opened

  /** `views()` → the views of the loaded window. `stage` holds the figures and the labels. `onShown()` is called before the panel opens. */
  constructor({ source, stage, views, announce, onShown }) {
    Object.assign(this, { source, views, announce, onShown });
    this.panel = byId("copy");
    if (!this.panel) return; // a report holds no objects
    stage.addEventListener("use", ({ detail }) => this.#open(detail));
    stage.addEventListener("click", ({ target }) => target.closest("[data-use]") && this.#open(target.closest("[data-use]").dataset.use));
    stage.addEventListener("hover", ({ detail }) => this.#hover(detail));
    byId("copy-close").addEventListener("click", () => this.close());
  }

  /** Returns the view and the act that a text "3.7" names. */
  #act(named) {
    const [view, use] = named.split(".").map(Number);
    const found = this.views()[view];
    return { view: found, use: found?.uses[use] };
  }

  async #compared({ view, use }) {
    if (!use?.stood || use.stood === use.resource_version) return null;
    const path = `/api/sources/${this.source}/tracks/${view.track}`, key = `${path} ${use.resource_version} ${use.stood}`;
    if (!this.#known.has(key)) this.#known.set(key, copy(path, { copied: use.resource_version, stood: use.stood }));
    try {
      return await this.#known.get(key);
    } catch {
      this.#known.delete(key); // the next hand asks again
      return null;
    }
  }

  async #hover(found) {
    this.#hovered = found?.use ?? "";
    if (!found) return;
    const compared = await this.#compared(this.#act(found.use));
    const tip = byId("tip");
    if (!compared?.lines.length || this.#hovered !== found.use || tip.hidden || tip.querySelector(".diff")) return;
    const styles = { "+": "added", "-": "removed", " ": "same", "@": "place" };
    tip.append(el("pre", { class: "diff" }, compared.lines.filter(([sign]) => sign !== " ").slice(0, FIRST).map(([sign, text]) => el("span", { class: styles[sign] }, `${sign === "@" ? "" : `${sign} `}${text}\n`))));
    const { height } = tip.getBoundingClientRect();
    if (tip.offsetTop + height > innerHeight) tip.style.top = `${Math.max(4, found.at.clientY - height - 10)}px`;
  }

  async #open(named) {
    const act = this.#act(named);
    if (!act.use) return;
    this.onShown();
    if (this.panel.hidden) this.#from = document.activeElement;
    const { view, use } = act;
    byId("copy-title").textContent = `${view.actor}: ${use.what}`;
    const old = use.unseen ? `Revision ${use.unseen} was committed ${use.lag} before${use.matters ? `: the ${view.kind} ${use.matters}` : ""}.` : "No newer revision is known.";
    const words = [el("p", { class: "said" }, `It acted on revision ${use.resource_version} of ${view.kind} ${view.name}. ${old}`)];
    byId("copy-body").replaceChildren(...words);
    this.panel.hidden = false;
    this.panel.focus({ preventScroll: true });
    this.announce(`${byId("copy-title").textContent}. ${words[0].textContent}`);
    const compared = await this.#compared(act);
    if (compared && byId("copy-body").firstChild === words[0]) byId("copy-body").replaceChildren(...words, ...comparison(compared));
  }

  /** Closes the panel. The focus returns to where it was. Returns false if the panel was closed already. */
  close() {
    if (!this.panel || this.panel.hidden) return false;
    this.panel.hidden = true;
    (this.#from?.isConnected ? this.#from : byId("bench")).focus({ preventScroll: true });
    return true;
  }
}
