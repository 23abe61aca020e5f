// This module updates the lists of recordings and incidents with the server's HTML, and renames and deletes recordings.

import { byId, el } from "../draw/dom.js";
import { request } from "../state/api.js";
import { unattended } from "../state/attended.js";

const OFTEN = 2_000; // the least ms between two automatic updates

/** Returns a selector of an element of the lists that has the focus, or null: its successor gets the focus. */
function placeOf(element) {
  const list = element?.closest("#overview section[id]");
  if (!list) return null;
  const kept = element.closest("[data-keep]")?.dataset.keep, source = element.closest("[data-source]")?.dataset.source;
  const undo = element.closest("[data-keep-focus]")?.dataset.keepFocus;
  if (undo) return `[data-keep-focus="${CSS.escape(undo)}"]`;
  if (kept) return `[data-keep="${CSS.escape(kept)}"] summary`;
  const act = ["rename", "delete"].find((name) => name in element.dataset);
  if (source && act) return `[data-source="${source}"] [data-${act}]`;
  const address = element.closest("a")?.getAttribute("href");
  return address ? `#${list.id} a[href="${CSS.escape(address)}"]` : source ? `[data-source="${source}"] a` : null;
}

export class Recordings {
  #renewing = null; // the promise of the current request
  #next = null; // the promise of the one after it
  #soon = 0;
  #away = false; // the server could not be reached the last time
  #renewed = -OFTEN; // when the last update began

  constructor({ csrf, announce, trouble }) {
    Object.assign(this, { csrf, announce, trouble });
    document.addEventListener("click", ({ target }) => {
      const row = target.closest("[data-source]");
      if (target.closest("[data-rename]")) this.#rename(row);
      else if (target.closest("[data-delete]")) this.#ask(row);
    });
  }

  /** Replaces the lists with the server's current version, one request at a time, and not while a name is being edited. Resolves after a request that was sent after this call: the current one may not contain yet what has just changed. */
  renew() {
    if (!this.#renewing) return this.#renewing = this.#fetch().finally(() => this.#renewing = null);
    return this.#next ??= this.#renewing.then(() => {
      this.#next = null;
      return this.renew();
    });
  }

  /** Updates soon after a change, but not continuously while a cluster changes all the time. */
  renewSoon(wait = Math.max(0, this.#renewed + OFTEN - performance.now())) {
    this.#soon ||= setTimeout(() => {
      this.#soon = 0;
      const busy = !getSelection().isCollapsed || document.querySelector("#overview :active"); // the user copies text, or presses a button
      if (busy || this.#renewing) this.renewSoon(OFTEN);
      else if (!document.hidden) this.renew();
    }, wait);
  }

  async #fetch() {
    let text;
    this.#renewed = performance.now();
    try {
      text = await (await fetch(location.pathname + location.search, { headers: { Accept: "text/html", ...unattended() } })).text();
    } catch {
      this.#away = true;
      return this.trouble("The server cannot be reached; it may be restarting. What this page shows may be out of date.");
    }
    if (this.#away) this.trouble("");
    this.#away = false;
    if (document.querySelector(".rename") || document.activeElement?.closest("#overview [role=search]")) return;
    const page = new DOMParser().parseFromString(text, "text/html");
    const place = placeOf(document.activeElement);
    const open = new Set([...document.querySelectorAll("[data-keep][open]")].map((each) => each.dataset.keep));
    const fresh = page.getElementById("overview");
    if (fresh) {
      byId("overview").replaceWith(document.adoptNode(fresh));
      // One recording more or less may make the cards a table, or the table cards.
      document.body.classList.toggle("many", page.body.classList.contains("many"));
      document.querySelector("h1").textContent = page.querySelector("h1").textContent;
    }
    for (const each of document.querySelectorAll("[data-keep]")) each.open = open.has(each.dataset.keep);
    if (place) document.querySelector(place)?.focus({ preventScroll: true });
  }

  #rename(row) {
    const link = row.querySelector("th a"), button = row.querySelector("[data-rename]");
    const input = el("input", { class: "rename-input", value: row.dataset.name, maxlength: 253, required: true, "aria-label": `New name of ${row.dataset.name}` });
    const form = el("form", { class: "rename" }, input, el("button", { class: "button primary" }, "Save"), el("button", { class: "button", type: "button" }, "Cancel"));
    const close = () => {
      form.replaceWith(link);
      button.focus();
      this.renewSoon(); // what changed meanwhile was not shown
    };
    link.replaceWith(form);
    input.select();
    form.lastChild.addEventListener("click", close);
    form.addEventListener("keydown", ({ key }) => key === "Escape" && close());
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const options = { method: "PATCH", headers: { ...this.csrf, "Content-Type": "application/json" }, body: JSON.stringify({ name: input.value }) };
      try {
        const { name } = await request(`/api/sources/${row.dataset.source}`, options);
        close();
        this.announce(`The recording is now called ${name}.`);
        await this.renew();
      } catch (error) {
        input.setCustomValidity(error.detail ?? error.message);
        input.reportValidity();
        input.addEventListener("input", () => input.setCustomValidity(""), { once: true });
      }
    });
  }

  #ask(row) {
    const dialog = byId("confirm"), { name, source } = row.dataset;
    byId("confirm-name").textContent = name;
    this.#tellGone(source);
    byId("confirm-error").hidden = true;
    dialog.returnValue = "keep";
    dialog.showModal();
    dialog.addEventListener("close", () => {
      if (dialog.returnValue === "delete") this.#delete(source, name);
      else document.querySelector(`[data-source="${source}"] [data-delete]`)?.focus();
    }, { once: true });
  }

  /** Shows in the dialog what will be gone, as the page that deletes the recording says it. */
  async #tellGone(source) {
    const place = byId("confirm-gone");
    place.textContent = "Counting what will be gone…";
    try {
      const answer = await fetch(`/sources/${source}/delete/`, { headers: { Accept: "text/html" } });
      const gone = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("gone");
      place.replaceChildren(...(gone ? [document.adoptNode(gone)] : []));
    } catch {
      place.textContent = "What will be gone could not be counted.";
    }
  }

  async #delete(source, name) {
    const row = document.querySelector(`[data-source="${source}"]`);
    row?.classList.add("going");
    try {
      await request(`/api/sources/${source}`, { method: "DELETE", headers: this.csrf });
      this.announce(`${name} was deleted. You can undo this for a minute.`);
      await this.renew();
      (document.querySelector("#deleted button") ?? byId("main")).focus();
    } catch (error) {
      row?.classList.remove("going");
      const dialog = byId("confirm");
      byId("confirm-error").textContent = error.message;
      byId("confirm-error").hidden = false;
      dialog.showModal();
      dialog.addEventListener("close", () => dialog.returnValue === "delete" && this.#delete(source, name), { once: true });
    }
  }
}
