// This module shows the list of findings, which is the chart's text alternative.

import { byId, el } from "../draw/dom.js";
import { thousands } from "../state/amounts.js";
import { age } from "../state/time.js";
import { row } from "./findingRow.js";

const NEAR = 400; // px from the end of the list at which the next page is loaded

export class FindingsPanel {
  #drawn = [];
  #rows = new Map(); // key → {from, item}: the values from which a row was drawn, and its element

  /** `acts`: {onSelect(key), onHold(key), onMore(), onClear()}. */
  constructor(acts) {
    this.panel = byId("findings");
    this.list = byId("finding-list");
    this.list.addEventListener("click", (event) => {
      if (event.target.closest("[data-more]")) return acts.onMore();
      if (event.target.closest("[data-clear]")) return acts.onClear();
      const hold = event.target.closest("[data-hold]")?.dataset.hold;
      if (hold) return acts.onHold(hold);
      if (getSelection()?.toString()) return; // the user is copying text
      const item = event.target.closest("[data-finding]");
      if (item && !event.target.closest(".finding-body")) acts.onSelect(item.dataset.finding);
    });
    this.onMore = acts.onMore;
    this.panel.addEventListener("scroll", () => this.#nearEnd() && acts.onMore(), { passive: true });
  }

  /** Draws the list. `inView`: how many findings are in the view, or null if that is not known. `now`: µs, for a live source. */
  draw(findingsList, { selected, held, births, inView, filtered, now = null }) {
    const { groups } = findingsList;
    byId("findings-count").textContent = findingsList.total ? [inView === null ? "" : `${thousands(inView)} in view`, `${thousands(findingsList.total)} in all`].filter(Boolean).join(" · ") : "";
    const state = [groups, selected, held.join(), [...births].join(), findingsList.more, filtered, findingsList.get(selected)];
    if (state.every((part, i) => part === this.#drawn[i])) return;
    const moved = selected !== this.#drawn[1];
    this.#drawn = state;
    if (!findingsList.known) return; // the placeholder stays
    const focused = this.list.contains(document.activeElement) ? document.activeElement : null;
    const shown = groups.some(({ key }) => key === selected) || !findingsList.get(selected) ? groups : [findingsList.get(selected), ...groups];
    const anchor = this.#anchor();
    this.#renew([...(shown.length ? shown.map((group) => this.#row(group, { selected: group.key === selected, held: held.includes(group.key), births, now })) : [this.#none(filtered)]),
      ...(findingsList.more ? [el("li", { class: "further" }, el("button", { type: "button", class: "button", "data-more": "" }, "Show more"))] : [])]);
    if (!this.list.contains(document.activeElement)) this.#refocus(focused);
    const kept = anchor && this.list.querySelector(`[data-finding="${CSS.escape(anchor.key)}"]`);
    if (kept) this.panel.scrollTop += kept.offsetTop - anchor.top;
    const chosen = this.list.querySelector(".selected");
    if (chosen && moved) this.#bringIn(chosen);
    if (findingsList.more && this.#nearEnd()) this.onMore();
  }

  /** Returns the row of a finding. A row with the same content is kept, with the user's selection and focus in it. */
  #row(group, options) {
    const from = [group, options.selected, options.held, options.selected ? [...options.births].join() : ""];
    const old = this.#rows.get(group.key);
    if (old && from.every((part, i) => part === old.from[i])) return old.item;
    const item = row(group, options);
    this.#rows.set(group.key, { from, item });
    return item;
  }

  /** Puts these items into the list, without removing those that are already there. */
  #renew(items) {
    const wanted = new Set(items);
    for (const item of [...this.list.children]) if (!wanted.has(item)) item.remove();
    let next = this.list.firstElementChild;
    for (const item of items) {
      if (item === next) next = next.nextElementSibling;
      else this.list.insertBefore(item, next);
    }
    for (const [key, { item }] of this.#rows) if (!wanted.has(item)) this.#rows.delete(key);
  }

  /** If the list is scrolled, returns the first visible row as {key, top (px)}, so that it can be kept in place; else null. */
  #anchor() {
    const { scrollTop, firstElementChild: head } = this.panel;
    if (scrollTop === 0) return null;
    const item = [...this.list.children].find((each) => each.dataset.finding && each.offsetTop + each.offsetHeight > scrollTop + head.offsetHeight);
    if (!item) return null;
    return { key: item.dataset.finding, top: item.offsetTop };
  }

  /** Updates the texts that say how long ago each finding was at `now` (µs). */
  count(now) {
    for (const each of this.list.querySelectorAll("[data-ago]")) {
      const words = age(now - Number(each.dataset.ago));
      if (each.textContent !== words) each.textContent = words;
    }
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

  /** Scrolls so that the item is visible, or at least its top, where its text begins. */
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
          el("p", {}, document.body.dataset.live ? "No rule that can be judged has found a violation so far. Kinds that are not watched are not judged."
            : "No rule that can judge this recording found a violation. Kinds that were not recorded were not judged."));
  }
}
