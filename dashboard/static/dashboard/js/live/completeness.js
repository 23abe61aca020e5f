// The pill that says whether something is missing. It is not green while nobody can tell.

import { byId } from "../draw/dom.js";
import { plural } from "../state/amounts.js";

export class Completeness {
  #pill = byId("toolbar").querySelector(".pill.complete, .pill.partial");
  #missing = this.#pill?.classList.contains("complete") ? "" : this.#pill?.textContent; // as the server wrote it

  /** Takes over how many gaps there are. */
  count(gaps) {
    this.#missing = `complete except for ${plural(gaps, "gap")}`;
  }

  /** `arrives`: whether all changes arrive here; `why`: a sentence where they do not. */
  draw(arrives, why) {
    const pill = this.#pill, missing = this.#missing;
    if (!pill) return;
    const words = missing || (arrives ? "complete · no gaps" : "not complete now");
    pill.className = missing || !arrives ? "pill partial" : "pill complete";
    pill.title = missing ? "In some intervals a kind was not observed" : arrives ? "No write is known to be missing" : why;
    if (pill.textContent !== words) pill.textContent = words;
  }
}
