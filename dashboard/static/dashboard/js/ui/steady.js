// This module keeps the rows of a live list in their places while the pointer or the focus is on it. A button says how many have
// changed meanwhile, and brings them.

import { el } from "../draw/dom.js";
import { changed } from "../state/ordering.js";

const ACTED = 1_000; // ms after an act of the reader for which its consequences are shown
const LEFT = 300; // ms after the pointer or the focus has left

/** Returns whether the pointer or the focus is on an element. */
export const engaged = (element) => element.matches(":hover") || element.contains(document.activeElement);

export class Steady {
  #shown = null; // the ids of the rows, section by section, as they are drawn
  #about = ""; // what the reader has chosen, as a text
  #until = 0; // when the consequences of the last act are shown (ms)

  /** `panel` has the rows, the button is put after `head`, and `onLet()` is called when the new order may be shown. */
  constructor(panel, head, onLet) {
    this.panel = panel;
    this.button = el("button", { type: "button", class: "link changed-rows", title: "Rows keep their places while you are at the list. Show the new order.", hidden: "" });
    head.after(this.button);
    const letGo = () => {
      this.#until = performance.now() + ACTED;
      onLet();
    };
    this.button.addEventListener("click", () => {
      panel.focus({ preventScroll: true }); // the button will be hidden
      letGo();
    });
    for (const name of ["pointerleave", "focusout"]) panel.addEventListener(name, () => setTimeout(() => this.button.hidden || engaged(panel) || letGo(), LEFT));
  }

  /** Returns the sections (arrays of rows with ids), in the order that was drawn last if that has to stay. `about` is what the reader has chosen, as a text: after a change of it, the order is new. */
  settle(sections, about) {
    const now = performance.now();
    if (about !== this.#about) [this.#about, this.#until] = [about, now + ACTED];
    const ids = sections.map((rows) => rows.map(({ id }) => id));
    const steady = this.#shown && now > this.#until && engaged(this.panel);
    const many = steady ? changed(this.#shown.flatMap((rows, i) => [...rows, i]), ids.flatMap((rows, i) => [...rows, i])) : 0;
    this.button.hidden = many === 0;
    this.button.textContent = `${many} changed`;
    if (!many) {
      this.#shown = ids;
      return sections;
    }
    const rows = new Map(sections.flat().map((row) => [row.id, row]));
    return this.#shown.map((section) => section.flatMap((id) => rows.get(id) ?? []));
  }
}
