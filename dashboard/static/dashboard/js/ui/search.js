// This module runs the search field, with a list of what its text may mean: a time, a filter written as terms, and the objects,
// findings, actors and lines that match it. It completes terms, and offers the searches that are saved.

import { byId, el, severityShape } from "../draw/dom.js";
import { actorName } from "../state/actors.js";
import { plural } from "../state/amounts.js";
import { request } from "../state/api.js";
import { completions, saved, textOf, toggleSaved, withTimes } from "../state/terms.js";
import { clock, day } from "../state/time.js";

const WAIT = 120; // ms after the last letter is typed
const NOTHING = { objects: [], findings: [], actors: [], lines: [], more: false, filter: null, wrong: "" };

const when = (start) => `${day(start)} ${clock(start, 0)}`;

const object = (found) => [
  el("span", { class: `badge family-${found.family.toLowerCase()}` }, found.short),
  el("span", { class: "hit-words" }, el("span", { class: "hit-name" }, found.name), el("span", { class: "hit-about" }, [found.kind, found.namespace, found.why, `from ${when(found.start)}`].filter(Boolean).join(" · "))),
];
const finding = (group) => [
  severityShape(group.severity),
  el("span", { class: "hit-words" }, el("span", { class: "hit-name" }, group.summary), el("span", { class: "hit-about" }, [group.rule, group.namespace, when(group.start)].filter(Boolean).join(" · "))),
];
const actor = ({ name, changes }) => [
  el("span", { class: "badge family-config", "aria-hidden": "true" }, "who"),
  el("span", { class: "hit-words" }, el("span", { class: "hit-name" }, actorName(name)), el("span", { class: "hit-about" }, `actor of ${plural(changes, "change")} · ${name}`)),
];

const plain = (badge) => ({ label, about }) => [
  el("span", { class: "badge family-other", "aria-hidden": "true" }, badge),
  el("span", { class: "hit-words" }, el("span", { class: "hit-name" }, label), el("span", { class: "hit-about" }, about ?? "")),
];

const line = ({ text, name, level, time }) => [
  el("span", { class: "badge family-other", "aria-hidden": "true" }, "log"),
  el("span", { class: "hit-words" }, el("span", { class: "hit-name" }, text), el("span", { class: "hit-about" }, [level, name, when(time)].filter(Boolean).join(" · "))),
];

export class Search {
  #hits = []; // functions that show a result, in the order of the list
  #at = -1;
  #controller = null;
  #timer = 0;

  /**
   * `acts` has `onObject(found)`, `onFinding(group)`, `onActor(name)`, `onLine(line)`, `onTime(found, text)` and `onFilter(filter)`,
   * which are called for the chosen result, and `announce(text)`; `time(text)` → {found, words} of a text that is a time, or
   * null; `read(text)` → the same `found` alone; `choices()` → the known values of terms; `filter()` → the filter that is in force.
   */
  constructor(source, acts) {
    this.source = source;
    this.acts = acts;
    this.field = byId("search");
    this.list = byId("hits");
    this.field.addEventListener("input", () => this.#soon());
    this.field.addEventListener("focus", () => this.#soon());
    this.field.addEventListener("blur", () => this.#close());
    this.field.addEventListener("keydown", (event) => this.#keyed(event));
    this.list.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
    this.list.addEventListener("click", ({ target }) => {
      const option = target.closest("[role=option]");
      if (option) this.#choose(Number(option.dataset.at));
    });
  }

  focus() {
    this.field.focus();
    this.field.select();
  }

  #soon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), WAIT);
  }

  async #ask() {
    const words = this.field.value.trim();
    this.#controller?.abort();
    if (!words) return this.#draw(NOTHING);
    this.#controller = new AbortController();
    try {
      const parameters = new URLSearchParams({ q: withTimes(words, this.acts.read) });
      this.#draw(await request(`/api/sources/${this.source}/search?${parameters}`, { signal: this.#controller.signal }));
    } catch (error) {
      if (error.name !== "AbortError") this.#show([el("p", { class: "hits-none" }, error.message)]);
    }
  }

  /** Returns the completions of what is typed, and whether its last term needs one, because it is about a value that has to be whole. */
  #completed() {
    const text = this.field.value, found = completions(text, this.acts.choices());
    return { found, first: found.length > 0 && /(^|\s)(ns|namespace|node|rule|actor|severity):\S+$/i.test(text) };
  }

  /** Returns what is offered besides the server's hits: [name, heading, hits, how one is written, what choosing one does]. */
  #offers({ filter }) {
    const { acts } = this, text = this.field.value.trim();
    const time = text && acts.time(text), kept = saved(), current = textOf(acts.filter());
    const used = text ? (filter ? text : "") : current; // what can be saved
    const known = kept.includes(used);
    return [
      ["time", "Time", time ? [{ label: `Go to ${time.words}` }] : [], plain("time"), () => acts.onTime(time.found, text)],
      ["filter", "Filter", filter ? [{ label: "Show only what matches", about: text }] : [], plain("filter"), () => acts.onFilter(filter)],
      ["saved", "Saved in this browser", text ? [] : kept.map((each) => ({ label: each, text: each })), plain("saved"), (one) => this.#write(one.text)],
      ["terms", "Narrow by", this.#completed().found, plain("term"), (one) => this.#write(one.text)],
      ["save", "This search", used ? [{ label: known ? "Forget this search" : "Save this search", about: used }] : [], plain("save"), () => toggleSaved(used)],
    ];
  }

  /** Replaces the text of the field, and goes on with it. */
  #write(text) {
    this.field.value = text;
    this.field.focus();
    this.#ask();
  }

  #draw(answer) {
    const { objects, findings, actors, lines, more, wrong } = answer, { acts } = this;
    if (document.activeElement !== this.field) return;
    const [time, filter, kept, terms, save] = this.#offers(answer), { first } = this.#completed();
    const groups = [
      ...(first ? [terms] : []), time, filter,
      ["objects", more ? `The first ${objects.length} objects, in the whole recording` : "Objects, in the whole recording", objects, object, (one) => acts.onObject(one)],
      ["actors", "Actors, in the whole recording", actors, actor, (one) => acts.onActor(one.name)],
      ["findings", "Findings", findings, finding, (one) => acts.onFinding(one)],
      ["lines", "Lines of logs", lines, line, (one) => acts.onLine(one)],
      kept, ...(first ? [] : [terms]), save,
    ].filter(([, , hits]) => hits.length);
    this.#hits = groups.flatMap(([, , hits, , act]) => hits.map((one) => () => act(one)));
    let at = 0;
    const option = (parts) => el("div", { role: "option", id: `hit-${at}`, class: "hit", "data-at": at++, "aria-selected": "false" }, parts);
    const none = this.field.value.trim() && !groups.some(([name]) => !["terms", "save"].includes(name));
    this.#show([
      ...(wrong || none ? [el("p", { class: "hits-none" }, wrong || "Nothing matches")] : []),
      ...groups.map(([name, words, hits, write]) => el("div", { role: "group", "aria-labelledby": `hits-${name}` }, el("div", { class: "hits-head", id: `hits-${name}`, role: "presentation" }, words), hits.map((one) => option(write(one))))),
    ]);
    this.acts.announce(wrong ? wrong : time[2].length ? time[2][0].label : filter[2].length ? "Enter shows only what matches" : !none && this.field.value.trim() ? [more ? `the first ${objects.length} objects` : plural(objects.length, "object"), plural(actors.length, "actor"), plural(findings.length, "finding"), lines.length && plural(lines.length, "line")].filter(Boolean).join(", ") : this.field.value.trim() ? "Nothing matches" : "");
    this.#point(this.#hits.length && this.field.value.trim() && (first || !none) ? 0 : -1);
  }

  #show(parts) {
    this.list.replaceChildren(...parts);
    this.list.hidden = false;
    this.field.setAttribute("aria-expanded", "true");
  }

  #close() {
    clearTimeout(this.#timer);
    this.#controller?.abort();
    this.#hits = [];
    this.list.hidden = true;
    this.field.setAttribute("aria-expanded", "false");
    this.field.removeAttribute("aria-activedescendant");
  }

  #point(at) {
    this.list.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
    this.#at = at;
    const option = byId(`hit-${at}`);
    if (!option) return this.field.removeAttribute("aria-activedescendant");
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    this.field.setAttribute("aria-activedescendant", option.id);
  }

  #keyed(event) {
    const count = this.#hits.length;
    if (event.key === "Escape") {
      if (this.list.hidden) this.field.blur();
      else this.#close();
    } else if (event.key === "Enter" && this.#at >= 0) this.#choose(this.#at);
    else if (event.key === "Tab" && !event.shiftKey && this.#completes()) this.#write(this.#completes());
    else if (event.key === "ArrowDown" && count) this.#point((this.#at + 1) % count);
    else if (event.key === "ArrowUp" && count) this.#point((this.#at - 1 + count) % count);
    else return;
    event.preventDefault();
  }

  /** Returns the search with its last term completed, or null if nothing completes what is typed. */
  #completes() {
    return /\S$/.test(this.field.value) ? (this.#completed().found[0]?.text ?? null) : null;
  }

  #choose(at) {
    const show = this.#hits[at];
    if (!show) return;
    this.#close();
    this.field.blur();
    show(); // it may go on with another text
  }
}
