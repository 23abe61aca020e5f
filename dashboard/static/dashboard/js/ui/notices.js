// This module shows a notice instead of lanes if nothing matches, loading failed, or the network is away.

import { byId, el } from "../draw/dom.js";
import { isAway } from "../state/api.js";

const ONLY_LOGS = "Here are only logs of programs. The rules need an audit log, a watch or a list of the same time beside them.";

const AGAIN = 3_000; // ms after which a request is sent again that a server which restarts did not answer

export class Notices {
  #failed = false;
  #again = 0;
  empty = "This recording changes no object, so there is nothing to draw.";

  /** `filtered()` → whether lanes are filtered, `logs()` → the number of logs below the lanes. */
  constructor({ announce, onRetry, onClear, filtered, logs }) {
    Object.assign(this, { announce, onRetry, onClear, filtered, logs });
    this.box = byId("notice");
    addEventListener("online", () => this.#failed && onRetry());
    addEventListener("offline", () => announce("You are offline. What is already loaded stays visible."));
  }

  #show(parts, words) {
    this.box.replaceChildren(...parts);
    this.box.hidden = false;
    this.announce(words);
  }

  #button(words, act) {
    const button = el("button", { type: "button", class: "button" }, words);
    button.addEventListener("click", act);
    return button;
  }

  /** Sets the sentence that is shown while nothing has been observed, and shows it if the old one is visible. */
  nothing(words) {
    const shown = !this.box.hidden && this.box.textContent === this.empty;
    if (shown && words !== this.empty) this.#show([words], words);
    this.empty = words;
  }

  /** Brings the notice in line after it became known which logs there are. An error stays. */
  logged(payload) {
    if (!this.#failed) this.lanes(payload);
  }

  /** Hides the notice after a window was loaded, or shows why the window has no lanes. */
  lanes(payload) {
    this.#failed = false;
    clearTimeout(this.#again);
    this.box.hidden = true;
    if (payload.groups.length || payload.lanes.length || payload.folded?.quiet || payload.folded?.furniture) return;
    if (this.filtered()) this.#show(["No object matches the filter in this range. ", this.#button("Clear the filter", this.onClear)], "No object matches the filter in this range.");
    else if (this.logs() && payload.first === payload.start && payload.last === payload.end) this.#show([ONLY_LOGS], ONLY_LOGS);
    else if (payload.last - payload.first <= 1) this.#show([this.empty], this.empty);
    else this.#show(["No object existed in this range."], "No object existed in this range.");
  }

  /** Says why a request failed. If no server has answered, the page tries again after a pause. */
  failed(error) {
    const words = navigator.onLine ? error.message : "You are offline. The page continues when the network is back.";
    clearTimeout(this.#again);
    if (isAway(error)) this.#again = setTimeout(this.onRetry, AGAIN);
    if (this.#failed && !this.box.hidden && this.box.firstChild?.textContent === words) return; // the focus may be on its button
    this.#failed = true;
    this.#show([words, " ", this.#button("Try again", this.onRetry)], words);
  }
}
