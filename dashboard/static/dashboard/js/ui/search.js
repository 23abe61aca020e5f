// This module runs the search field, with a list of the objects and findings that match its text.

import { byId, el, severityShape } from "../draw/dom.js";
import { actorName } from "../state/actors.js";
import { plural } from "../state/amounts.js";
import { request } from "../state/api.js";
import { clock, day } from "../state/time.js";

const WAIT = 120; // ms after the last letter is typed

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

const line = ({ text, name, level, time }) => [
  el("span", { class: "badge family-other", "aria-hidden": "true" }, "log"),
  el("span", { class: "hit-words" }, el("span", { class: "hit-name" }, text), el("span", { class: "hit-about" }, [level, name, when(time)].filter(Boolean).join(" · "))),
];

export class Search {
  #hits = []; // functions that show a result, in the order of the list
  #at = -1;
  #controller = null;
  #timer = 0;

  /** `acts` has `onObject(found)`, `onFinding(group)`, `onActor(name)` and `onLine(line)`, which are called for the chosen result, and `announce(text)`. */
  constructor(source, acts) {
    this.source = source;
    this.acts = acts;
    this.field = byId("search");
    this.list = byId("hits");
    this.field.addEventListener("input", () => this.#soon());
    this.field.addEventListener("focus", () => this.field.value && this.#soon());
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
    if (!words) return this.#close();
    this.#controller = new AbortController();
    try {
      const parameters = new URLSearchParams({ q: words });
      this.#draw(await request(`/api/sources/${this.source}/search?${parameters}`, { signal: this.#controller.signal }));
    } catch (error) {
      if (error.name !== "AbortError") this.#show([el("p", { class: "hits-none" }, error.message)]);
    }
  }

  #draw({ objects, findings, actors, lines, more }) {
    if (document.activeElement !== this.field) return;
    this.#hits = [...objects.map((one) => () => this.acts.onObject(one)), ...actors.map((one) => () => this.acts.onActor(one.name)), ...findings.map((one) => () => this.acts.onFinding(one)), ...lines.map((one) => () => this.acts.onLine(one))];
    const option = (at, parts) => el("div", { role: "option", id: `hit-${at}`, class: "hit", "data-at": at, "aria-selected": "false" }, parts);
    const group = (name, words, from, parts) => (parts.length
      ? [el("div", { role: "group", "aria-labelledby": `hits-${name}` }, el("div", { class: "hits-head", id: `hits-${name}`, role: "presentation" }, words), parts.map((each, i) => option(from + i, each)))] : []);
    this.#show(this.#hits.length
      ? [
          ...group("objects", more ? `The first ${objects.length} objects, in the whole recording` : "Objects, in the whole recording", 0, objects.map(object)),
          ...group("actors", "Actors, in the whole recording", objects.length, actors.map(actor)),
          ...group("findings", "Findings", objects.length + actors.length, findings.map(finding)),
          ...group("lines", "Lines of logs", objects.length + actors.length + findings.length, lines.map(line)),
        ]
      : [el("p", { class: "hits-none" }, "Nothing matches")]);
    this.acts.announce(this.#hits.length ? [more ? `the first ${objects.length} objects` : plural(objects.length, "object"), plural(actors.length, "actor"), plural(findings.length, "finding"), lines.length && plural(lines.length, "line")].filter(Boolean).join(", ") : "Nothing matches");
    this.#point(this.#hits.length ? 0 : -1);
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
    } else if (event.key === "Enter" && count) this.#choose(this.#at);
    else if (event.key === "ArrowDown" && count) this.#point((this.#at + 1) % count);
    else if (event.key === "ArrowUp" && count) this.#point((this.#at - 1 + count) % count);
    else return;
    event.preventDefault();
  }

  #choose(at) {
    const show = this.#hits[at];
    if (!show) return;
    this.#close();
    this.field.blur();
    show();
  }
}
