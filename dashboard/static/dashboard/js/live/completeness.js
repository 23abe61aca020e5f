// This module shows whether something is missing. Its label is not green while that is unknown.

import { byId } from "../draw/dom.js";
import { plural } from "../state/amounts.js";

export class Completeness {
  #pill = byId("toolbar").querySelector(".pill.complete, .pill.partial");
  #missing = this.#pill?.classList.contains("complete") ? "" : this.#pill?.textContent; // says what is missing; "" for nothing

  /** Sets the number of gaps. */
  count(gaps) {
    this.#missing = `complete except for ${plural(gaps, "gap")}`;
  }

  /** Draws the label. `arrives` says whether all changes arrive at this page, and `why` is a sentence that says why not. */
  draw(arrives, why) {
    const pill = this.#pill, missing = this.#missing;
    if (!pill) return;
    const words = missing || (arrives ? "complete · no gaps" : "not complete now");
    pill.className = missing || !arrives ? "pill partial" : "pill complete";
    pill.title = missing ? "In some intervals a kind was not observed, or retention has deleted what was" : arrives ? "No write is known to be missing" : why;
    if (pill.textContent !== words) pill.textContent = words;
  }
}
