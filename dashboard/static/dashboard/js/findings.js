// The list of findings. It is the chart's text alternative.

import { byId, el } from "./dom.js";
import { row } from "./finding.js";
import { thousands } from "./labels.js";

const NEAR = 400; // px from its end the list asks for more

export class Findings {
  #drawn = [];

  /** `acts`: {onSelect(key), onHold(key), onMore(), onClear()}. */
  constructor(acts) {
    this.panel = byId("findings");
    this.list = byId("finding-list");
    this.list.addEventListener("click", (event) => {
      if (event.target.closest("[data-more]")) return acts.onMore();
      if (event.target.closest("[data-clear]")) return acts.onClear();
      const hold = event.target.closest("[data-hold]")?.dataset.hold;
      if (hold) return acts.onHold(hold);
      if (getSelection()?.toString()) return; // someone copies a resource version
      const item = event.target.closest("[data-finding]");
      if (item && !event.target.closest(".finding-body")) acts.onSelect(item.dataset.finding);
    });
    this.onMore = acts.onMore;
    this.panel.addEventListener("scroll", () => this.#nearEnd() && acts.onMore(), { passive: true });
  }

  /** `inView`: how many of them lie in the view, or null while that is not known. */
  draw(found, { selected, held, births, inView, filtered }) {
    const { groups } = found;
    byId("findings-count").textContent = found.total ? [inView === null ? "" : `${thousands(inView)} in view`, `${thousands(found.total)} in all`].filter(Boolean).join(" · ") : "";
    const state = [groups, selected, held.join(), [...births].join(), found.more, filtered, found.get(selected)];
    if (state.every((part, i) => part === this.#drawn[i])) return;
    const moved = selected !== this.#drawn[1];
    this.#drawn = state;
    if (!found.known) return; // the skeleton stays
    const focused = this.list.contains(document.activeElement) ? document.activeElement : null;
    const shown = groups.some(({ key }) => key === selected) || !found.get(selected) ? groups : [found.get(selected), ...groups];
    const draw = (group) => row(group, { selected: group.key === selected, held: held.includes(group.key), births });
    this.list.replaceChildren(...(shown.length ? shown.map(draw) : [this.#none(filtered)]),
      ...(found.more ? [el("li", { class: "further" }, el("button", { type: "button", class: "button", "data-more": "" }, "Show more"))] : []));
    this.#refocus(focused);
    const chosen = this.list.querySelector(".selected");
    if (chosen && moved) this.#bringIn(chosen);
    if (found.more && this.#nearEnd()) this.onMore();
  }

  #nearEnd() {
    const { clientHeight, scrollHeight, scrollTop } = this.panel;
    return clientHeight > 0 && scrollHeight - scrollTop - clientHeight < NEAR;
  }

  #refocus(focused) {
    if (!focused) return;
    const key = focused.closest("[data-finding]")?.dataset.finding;
    const item = key ? this.list.querySelector(`[data-finding="${CSS.escape(key)}"]`) : null;
    const kept = focused.dataset.hold ? item?.querySelector("[data-hold]") : (this.list.querySelector(".selected h3 button") ?? item?.querySelector("h3 button"));
    kept?.focus({ preventScroll: true });
  }

  /** What it says begins at the top, so the top has to be in sight. */
  #bringIn(item) {
    const { panel } = this;
    const head = panel.firstElementChild.offsetHeight;
    const top = item.offsetTop - head, bottom = item.offsetTop + item.offsetHeight - panel.clientHeight;
    if (panel.scrollTop > top) panel.scrollTop = top;
    else if (panel.scrollTop < bottom) panel.scrollTop = Math.min(top, bottom);
  }

  #none(filtered) {
    return filtered
      ? el("li", { class: "nothing" }, el("h3", {}, "No finding matches the filter"), el("p", {}, el("button", { type: "button", class: "button", "data-clear": "" }, "Clear the filter")))
      : el("li", { class: "nothing" }, el("h3", {}, "No ordering violation found"),
          el("p", {}, document.body.dataset.live ? "Every rule that can be judged was kept so far. Kinds that are not watched are not judged."
            : "Every rule that this recording can prove was kept. Kinds that were not recorded were not judged."));
  }
}
