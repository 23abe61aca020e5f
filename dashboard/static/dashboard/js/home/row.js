// This module shows one upload, from the first byte to the link to its timeline.

import { el, shown } from "../draw/dom.js";
import { plural, left, percent, share } from "../state/amounts.js";

export const FINAL = new Set(["done", "failed", "cancelled"]);
const sentence = (text) => text.replace(/[.…]?$/, (end) => end || ".");

export class Row {
  /** Takes an element that the server rendered, or else makes a new one. */
  constructor(element) {
    this.element = element ?? document.getElementById("upload-row").content.firstElementChild.cloneNode(true);
    for (const part of ["name", "state", "actions", "bar", "detail"]) this[part] = this.element.querySelector(`[data-part="${part}"]`);
    this.began = performance.now();
  }

  call(name) {
    this.name.textContent = shown(name);
    this.name.parentElement.title = shown(name);
    this.bar.setAttribute("aria-label", `Progress of ${name}`);
  }

  get ended() {
    return FINAL.has(this.element.dataset.state);
  }

  /** Shows buttons, each as [text, act]. Existing ones are kept, with their focus. */
  act(...buttons) {
    const texts = buttons.map(([text]) => text).join();
    if (this.actions.dataset.shown === texts) return;
    this.actions.dataset.shown = texts;
    this.actions.replaceChildren(...buttons.map(([text, act, kind = "quiet"]) => {
      const button = el("button", { type: "button", class: `button ${kind}`, "aria-label": `${text} ${this.name.textContent}` }, text);
      button.addEventListener("click", act);
      return button;
    }));
  }

  #progress(part, whole) {
    this.bar.hidden = false;
    if (whole) this.bar.value = part / whole;
    else this.bar.removeAttribute("value");
  }

  #say(state, ...detail) {
    this.state.textContent = state;
    this.detail.replaceChildren(...detail);
  }

  sending({ sent, total, seconds }) {
    this.element.dataset.state = "sending";
    this.#progress(sent, total);
    this.#say(`sending · ${share(sent, total)}`, el("p", { class: "soft" }, sent === total ? "checking the files…" : left(seconds) || "\u00a0"));
  }

  pausing(seconds) {
    this.element.dataset.state = "paused";
    this.#say("waiting for the connection", el("p", { class: "soft" }, `The upload continues by itself; the next attempt is in ${seconds} s.`));
  }

  /** Shows that the upload was interrupted, for example because its page was closed. */
  brokenOff(upload, mine = true) {
    this.element.dataset.state = "paused";
    this.#progress(upload.bytes_read, upload.bytes_total);
    const what = upload.files === 1 ? "the same file" : "the same files";
    this.#say(`interrupted at ${percent(upload.bytes_read, upload.bytes_total)}`, ...this.#refusals,
      el("p", { class: "soft" }, `${share(upload.bytes_read, upload.bytes_total)} have arrived. ${mine ? `Choose ${what} again, and the upload continues from there` : "The person who sent it can continue from there"}.`));
  }

  /** Shows why the chosen files cannot continue the upload. It stays while messages come that the upload is interrupted. */
  refuse(reason) {
    this.#refusals.forEach((each) => each.remove());
    this.detail.prepend(el("p", { class: "alert", role: "alert" }, reason));
  }

  get #refusals() {
    return this.element.dataset.state === "paused" ? [...this.detail.querySelectorAll(".alert")] : [];
  }

  /** Shows that no message about the upload has come for long. */
  silent() {
    const why = this.element.dataset.state === "importing"
      ? "Its worker does not respond; another worker takes over. Nothing is lost."
      : this.element.dataset.state === "adding" ? "Still waiting: it is added as soon as a worker watches the cluster."
      : "Still waiting: all workers are busy, or no worker is running.";
    this.#say(this.state.textContent, el("p", { class: "soft" }, why));
  }

  failed(title, detail) {
    this.element.dataset.state = "failed";
    this.bar.hidden = true;
    this.#say("", el("p", { class: "alert", role: "alert" }, el("strong", {}, sentence(title)), detail ? ` ${detail}` : ""));
    this.act(["Dismiss", () => this.element.remove()]);
  }

  /** Shows the server's message about the upload. */
  show(upload) {
    this.call(upload.name);
    this.element.dataset.state = upload.state;
    const notes = skipped(upload);
    const { bytes_read: read, bytes_total: total } = upload;
    switch (upload.state) {
      case "receiving":
        this.#progress(read, total);
        return this.#say(`sending · ${share(read, total)}`, el("p", { class: "soft" }, "from another page"));
      case "waiting":
        this.#progress(0, 0);
        return this.#say("waiting for a worker", el("p", { class: "soft" }, "\u00a0"));
      case "importing":
        this.#progress(read, read < total ? total : 0);
        return this.#say(`reading · ${read < total ? `${percent(read, total)} · ` : ""}${plural(upload.entries, "change")}`,
          el("p", { class: "soft" }, read < total ? this.#left(read / total) : "judging what was read…"), ...notes);
      case "adding":
        this.#progress(0, 0);
        return this.#say(`adding to ${shown(upload.cluster_name)} · ${plural(upload.entries, "new change")}`,
          el("p", { class: "soft" }, "the worker that watches the cluster adds it"), ...notes);
      case "failed":
        this.failed(upload.cluster ? `It could not be added to ${shown(upload.cluster_name)}` : "The recording could not be imported", upload.error);
        return this.detail.append(...notes);
    }
    this.bar.hidden = true;
    if (upload.state === "cancelled") {
      this.#say("cancelled");
      return this.act(["Dismiss", () => this.element.remove()]);
    }
    if (upload.cluster) this.#say(`added to ${shown(upload.cluster_name)} · ${plural(upload.entries, "new change")}`, ...notes);
    else this.#say(`${plural(upload.entries, "change")} · ${plural(upload.incidents, "incident")} · ${plural(upload.findings, "finding")}`, ...notes);
    this.act(["Dismiss", () => this.element.remove()]);
    this.actions.prepend(el("a", { class: "button primary", href: upload.url }, "Open timeline"));
  }

  #left(part) {
    if (this.read === undefined || part < this.read.part) this.read = { part, at: performance.now() };
    return left(((1 - part) / ((part - this.read.part) / (performance.now() - this.read.at))) / 1000) || "\u00a0";
  }
}

function skipped(upload) {
  if (!upload.skipped) return [];
  const examples = upload.skipped_examples;
  const first = examples.length ? el("span", { class: "soft" }, ` · ${examples[0]}`) : null;
  return [el("details", { class: "skipped" }, el("summary", {}, `${plural(upload.skipped, "piece")} skipped`, first),
    el("ul", {}, examples.map((line) => el("li", {}, line)),
      upload.skipped > examples.length ? el("li", { class: "soft" }, `and ${(upload.skipped - examples.length).toLocaleString("en")} more`) : null))];
}
