// This module shows the list of incidents, which is the chart's text alternative: those in view first, then the others. The
// incident of the selected finding is open.

import { byId, el } from "../draw/dom.js";
import { plural, thousands } from "../state/amounts.js";
import { counted } from "../state/ordering.js";
import { age } from "../state/time.js";
import { countsOf } from "../state/window.js";
import { zone } from "../state/zone.js";
import { row } from "./incidentRow.js";
import { Steady } from "./steady.js";

const REST = 80; // ms without a movement after which the list is drawn
const NEAR = 400; // px from the end of the list at which the next page is loaded

export class IncidentsPanel {
  #births = {}; // the creation numbers that were written last, and the text
  #drawn = [];
  #last = []; // what was drawn last, from the list and which options
  #later = 0;
  #items = new Map(); // id → {from, item}: the values from which a row was drawn, and its element

  constructor({ store, selection }) {
    this.panel = byId("findings");
    this.list = byId("finding-list");
    this.onMore = () => selection.more();
    this.symptoms = []; // of the open incident
    this.steady = new Steady(this.panel, byId("findings-count"), () => this.#draw(...this.#last));
    const acts = { // by the attribute of the control
      more: this.onMore,
      moreRows: (id) => selection.moreRows(id),
      alone: (id) => selection.alone(id),
      symptom: (id) => selection.symptom(selection.open, this.symptoms.find((each) => each.id === id)),
      clear: () => store.clear(),
      hidden: () => store.set({ hidden: !store.hidden }, { push: true }),
      hold: (key) => store.toggle("arrows", key),
      order: (key) => {
        selection.order(key);
        document.querySelector('#tabs [data-tab="timeline"]').click(); // a phone shows one panel at a time
      },
    };
    this.panel.addEventListener("click", ({ target }) => {
      const button = target.closest("button");
      const act = button && Object.keys(acts).find((name) => name in button.dataset);
      if (act) return acts[act](button.dataset[act]);
      if (getSelection()?.toString() || target.closest("a, .finding-body")) return; // the user is copying text, or reading
      const finding = target.closest("[data-finding]")?.dataset.finding;
      if (finding) return selection.select(finding);
      const incident = target.closest("[data-incident]")?.dataset.incident;
      if (incident && !target.closest(".rows, .symptom-list")) selection.toggle(incident);
    });
    this.panel.addEventListener("scroll", () => this.#nearEnd() && this.onMore(), { passive: true });
  }

  /**
   * Draws the list. `open` is the id of the open incident, `view` the visible range, `births` the creation numbers by time (µs),
   * `filtered` whether a filter or a scope is on, `hidden` whether acknowledged, silenced and harmless incidents are shown, and `now` the
   * current time (µs) of a live source. If only the view has `moved`, the list is drawn when it rests: it reads where its rows are, for
   * which the browser has to compute the layout of the page.
   */
  draw(list, options, moved = false) {
    clearTimeout(this.#later);
    if (moved) this.#later = setTimeout(() => this.#draw(list, options), REST);
    else this.#draw(list, options);
  }

  #draw(list, options) {
    this.#last = [list, options];
    const { open, view, selected, held, births, filtered, hidden, alone, now = null } = options;
    const divided = list.divide(view), unmatched = filtered ? list.unmatched : [];
    const sections = [divided.inside, divided.outside].map((incidents) => incidents.filter((incident) => !unmatched.includes(incident)));
    const [inside, outside] = now === null ? sections : this.steady.settle(sections, JSON.stringify([open, selected, filtered, hidden]));
    const counts = inside === sections[0] ? divided.counts : counted(inside);
    byId("findings-count").textContent = list.known ? countsOf(list.all) : "";
    this.#noteHidden(list.hidden, hidden);
    const shown = open ? list.rows.shown(open, selected) : null;
    this.symptoms = list.get(open)?.symptoms ?? [];
    const ids = (incidents) => incidents.map(({ id }) => id).join();
    const state = [ids(inside), ids(outside), list.incidents, open, alone, selected, shown?.groups, shown?.groups.length, shown?.more, held.join(), this.#wordsOf(births), list.more, filtered, countsOf(counts), list.known, zone(), ids(unmatched)];
    if (state.every((part, i) => part === this.#drawn[i])) return;
    const opened = open !== this.#drawn[3] || Boolean(shown) !== Boolean(this.#drawn[6]) || ids(unmatched) !== (this.#drawn.at(-1) ?? "");
    const moved = opened || selected !== this.#drawn[5];
    this.#drawn = state;
    if (!list.known) return; // the placeholder stays
    const focused = this.list.contains(document.activeElement) ? this.#nameOf(document.activeElement) : null;
    const looks = { selected, held, births, now, alone };
    const items = (incidents) => incidents.map((incident) => this.#item(incident, { open: incident.id === open, shown: incident.id === open ? shown : null, options: looks }));
    const part = (words) => el("li", { class: "part" }, words);
    const anchor = this.#anchor();
    const matching = list.incidents.length > unmatched.length;
    this.#renew([
      ...(matching ? [part(inside.length ? `In view · ${countsOf(counts)}` : "Nothing in view"), ...items(inside)] : [this.#none(filtered, list.hidden)]),
      ...(outside.length ? [part("Not in view"), ...items(outside)] : []),
      ...(unmatched.length ? [part("Selected, but the filter does not match it"), ...items(unmatched)] : []),
      ...(list.more ? [el("li", { class: "further" }, el("button", { type: "button", class: "button", "data-more": "" }, "Show more"))] : []),
    ]);
    if (focused && !this.list.contains(document.activeElement)) this.list.querySelector(focused)?.focus({ preventScroll: true });
    const kept = anchor && this.list.querySelector(`[data-incident="${CSS.escape(anchor.id)}"]`);
    if (kept) this.panel.scrollTop += kept.offsetTop - anchor.top;
    const chosen = (opened ? null : this.list.querySelector(".finding.selected")) ?? this.list.querySelector(".incident.open");
    if (opened && unmatched.length) this.panel.scrollTop = 0; // where the list says what does match
    else if (chosen && moved) this.#bringIn(chosen);
    if (list.more && this.#nearEnd()) this.onMore();
  }

  /** Returns a text that is the same for equal creation numbers. Of thousands it is long to make, so it is kept. */
  #wordsOf(births) {
    if (births !== this.#births.from) this.#births = { from: births, words: [...births].join() };
    return this.#births.words;
  }

  /** Returns the row of an incident. A row with the same content is kept, with the user's selection and focus in it. */
  #item(incident, { open, shown, options }) {
    const from = [zone(), incident, open, ...(open ? [shown?.groups, shown?.groups.length, shown?.more, options.selected, options.alone, options.held.join(), this.#wordsOf(options.births)] : [])];
    const old = this.#items.get(incident.id);
    if (old && old.from.length === from.length && from.every((part, i) => part === old.from[i])) return old.item;
    const item = row(incident, { open, shown, options });
    this.#items.set(incident.id, { from, item });
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
    for (const [id, { item }] of this.#items) if (!wanted.has(item)) this.#items.delete(id);
  }

  /** Says how many incidents are hidden because somebody knows of them or they do no harm, with a button that shows them. */
  #noteHidden(hidden, shown) {
    const named = [[hidden.harmless, "without harm"], [hidden.acknowledged, "acknowledged"], [hidden.silenced, "silenced"]];
    const words = named.filter(([count]) => count).map(([count, word]) => `${thousands(count)} ${word}`).join(" · ");
    const note = byId("hidden-incidents");
    const written = shown ? "Incidents without harm, acknowledged and silenced ones are shown." : words && `${words}, not listed.`;
    if ((note.dataset.written ?? "") === written) return;
    note.dataset.written = written;
    if (!written) note.replaceChildren(); // its line stays, so that nothing below moves
    else note.replaceChildren(el("span", {}, written), el("button", { type: "button", class: "link", "data-hidden": "" }, shown ? "Hide" : "Show"));
  }

  /** Returns the first visible row as {id, top (px)}, so that it can be kept in place; null if the list is not scrolled. */
  #anchor() {
    const { scrollTop, firstElementChild: head } = this.panel;
    if (scrollTop === 0) return null;
    const item = [...this.list.children].find((each) => each.dataset.incident && each.offsetTop + each.offsetHeight > scrollTop + head.offsetHeight);
    return item ? { id: item.dataset.incident, top: item.offsetTop } : null;
  }

  /** Updates the texts that say how long ago each incident was at `now` (µs). */
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

  /** Returns a CSS selector of the control that has the focus. */
  #nameOf(element) {
    const finding = element.closest("[data-finding]")?.dataset.finding, incident = element.closest("[data-incident]")?.dataset.incident;
    const part = element.dataset.hold ? "[data-hold]" : element.dataset.order ? "[data-order]" : "alone" in element.dataset ? "[data-alone]" : element.dataset.symptom ? `[data-symptom="${CSS.escape(element.dataset.symptom)}"]` : finding ? "h4 button" : "h3 button";
    const item = finding ? `[data-finding="${CSS.escape(finding)}"]` : `[data-incident="${CSS.escape(incident ?? "")}"]`;
    return `${item} ${part}`;
  }

  /** Scrolls so that the item is visible, or at least its top, where its text begins. */
  #bringIn(item) {
    const { panel } = this;
    const from = (element) => element.getBoundingClientRect().top - panel.getBoundingClientRect().top + panel.scrollTop;
    const incident = item.closest(".incident");
    const first = item.previousElementSibling ? item : (item.closest(".symptom") ?? incident); // the title of the incident, or of its symptom, is above its first finding
    const top = from(first) - panel.firstElementChild.offsetHeight, bottom = from(item) + item.offsetHeight - panel.clientHeight;
    if (panel.scrollTop > top) panel.scrollTop = top;
    else if (panel.scrollTop < bottom) panel.scrollTop = Math.min(top, bottom);
  }

  #none(filtered, { acknowledged, silenced, harmless }) {
    if (filtered) return el("li", { class: "nothing" }, el("h3", {}, "No incident matches the filter"), el("p", {}, el("button", { type: "button", class: "button", "data-clear": "" }, "Clear the filter")));
    if (acknowledged + silenced) return el("li", { class: "nothing" }, el("h3", {}, `${plural(acknowledged + silenced, "incident")} that somebody knows of, and no other`));
    if (harmless) return el("li", { class: "nothing" }, el("h3", {}, `No incident did harm, ${thousands(harmless)} did none`));
    return el("li", { class: "nothing" }, el("h3", {}, "No ordering violation found"),
      el("p", {}, document.body.dataset.live ? "No rule that can be judged has found a violation so far. Kinds that are not watched are not judged."
        : "No rule that can judge this recording found a violation. Kinds that were not recorded were not judged."));
  }
}
