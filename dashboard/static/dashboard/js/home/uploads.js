// This module shows uploads: those that this page sends, those that were interrupted, and those of other pages.

import { byId } from "../draw/dom.js";
import { request } from "../state/api.js";
import { isSame } from "./files.js";
import { FINAL, Row } from "./row.js";
import { Sending } from "./sending.js";

const SILENT = 10_000; // ms without a message after which an upload of another page counts as interrupted, or its worker as stopped
const MINE = "causeline-sending"; // key in the session storage for the ids of the uploads that this tab sends
const STAMPS = "causeline-stamps"; // key in the local storage for the times at which their files were last changed

export class Uploads {
  #rows = new Map(); // upload id → Row
  #uploads = new Map(); // upload id → the server's latest message
  #sending = new Map(); // upload id → Sending
  #mine = new Set(remembered(() => sessionStorage, MINE, []));
  #stamps = remembered(() => localStorage, STAMPS, {});

  /** `on` has the callbacks done(upload), trouble(text) and choose(upload), which asks for the files again. */
  constructor({ csrf, on }) {
    Object.assign(this, { csrf, on });
    for (const element of document.querySelectorAll("[data-upload]")) {
      const upload = JSON.parse(element.dataset.upload);
      this.#rows.set(upload.id, new Row(element));
      this.take(upload);
    }
    addEventListener("beforeunload", (event) => this.#sending.size && event.preventDefault());
    setInterval(() => this.#lookForSilentOnes(), 1000);
  }

  /** Sends the chosen files, or continues their interrupted upload. With `upload`, the files have to be those of this upload; with `cluster`, they are added to what is watched of it. */
  async send({ name, files, left }, upload = null, cluster = null) {
    if (!files.length || !files.some(({ file }) => file.size)) return this.#refuse(name, files, left);
    let interrupted = null;
    try {
      interrupted = await this.#interrupted(files, upload, cluster);
    } catch (error) {
      return this.on.trouble(error.message);
    }
    if (upload && !interrupted) {
      const row = this.#rows.get(upload.id);
      row.brokenOff(upload);
      return row.refuse(`${name} does not match the interrupted upload: the files must have the same names and sizes, and must be unchanged.`);
    }
    const row = interrupted ? this.#rows.get(interrupted.id) : this.#add(name);
    const sending = new Sending({
      name, files, cluster, csrf: this.csrf,
      on: {
        upload: (upload) => this.#own(upload, row, sending),
        progress: (progress) => row.sending(progress),
        pause: (seconds) => row.pausing(seconds),
      },
    });
    const cancel = () => sending.cancel().catch((error) => this.on.trouble(error.message));
    row.sending({ sent: interrupted?.bytes_read ?? 0, total: sending.total });
    row.act(["Cancel", cancel]);
    try {
      const sent = await sending.run(interrupted);
      delete this.#stamps[sent.id];
      this.#release(sending);
      this.take(sent);
    } catch (error) {
      this.#release(sending);
      if (error.name === "AbortError") return row.element.remove();
      row.failed(error.title ?? "The recording could not be sent", error.detail ?? error.message);
    }
  }

  /** Handles the server's message about an upload. Uploads of other pages get a row, too, while they run. */
  take(upload) {
    if (this.#sending.has(upload.id)) return; // its row is more up to date
    let row = this.#rows.get(upload.id);
    if (!row) {
      if (FINAL.has(upload.state) || (upload.state === "receiving" && !upload.bytes_read)) return;
      row = this.#add(upload.name);
      this.#rows.set(upload.id, row);
    }
    if (row.ended) return; // messages can arrive out of order
    this.#uploads.set(upload.id, { ...upload, at: Date.now() });
    if (upload.state === "receiving" && this.#mine.has(upload.id)) return this.#breakOff(upload, row);
    row.show(upload);
    if (upload.state === "done") this.on.done(upload);
    else if (!FINAL.has(upload.state)) row.act(...this.#ifMine(upload, ["Cancel", () => this.#cancel(upload)]));
  }

  /** Shows an upload that nobody sends any more. Its buttons stay the same elements, so that no click on them is lost. */
  #breakOff(upload, row) {
    row.brokenOff(upload, this.#ifMine(upload, true).length > 0);
    row.act(...this.#ifMine(upload, ["Choose again…", () => this.on.choose(upload), ""], ["Cancel", () => this.#cancel(upload)]));
  }

  /** Fetches all uploads that have not ended. */
  async refetch() {
    try {
      const { uploads } = await request("/api/uploads");
      uploads.forEach((upload) => this.take(upload));
      const open = [...this.#rows].filter(([id, row]) => !row.ended && !this.#sending.has(id));
      for (const [id] of open) if (!uploads.some((upload) => upload.id === id)) this.take(await request(`/api/uploads/${id}`));
      this.on.trouble("");
    } catch (error) {
      this.on.trouble(`${error.message} What this page shows may be out of date.`);
    }
  }

  /** Returns these buttons if the user is the owner or an administrator. */
  #ifMine({ owner }, ...buttons) {
    const { person, admin } = document.body.dataset;
    return admin !== undefined || (owner !== null && String(owner) === person) ? buttons : [];
  }

  #add(name) {
    const row = new Row();
    row.call(name);
    byId("uploads").prepend(row.element);
    return row;
  }

  #refuse(name, files, left) {
    const [title, detail] = files.length || !left
      ? ["The file is empty", "Choose a recording that has changes in it."]
      : ["There is nothing to send", "All files of the folder are hidden."];
    this.#add(name).failed(title, detail);
  }

  /** Returns the interrupted upload of exactly these files with its parts, or null. */
  async #interrupted(files, wanted, cluster) {
    const total = files.reduce((sum, { file }) => sum + file.size, 0);
    for (const upload of wanted ? [wanted] : this.#uploads.values()) {
      if (!wanted && upload.cluster !== cluster) continue;
      if (upload.state !== "receiving" || !this.#ifMine(upload, true).length || upload.bytes_total !== total || this.#sending.has(upload.id)) continue;
      const current = await request(`/api/uploads/${upload.id}`);
      const unchanged = (this.#stamps[upload.id] ?? stampOf(files)) === stampOf(files);
      if (current.state === "receiving" && unchanged && isSame(files, current.parts)) return current;
    }
    return null;
  }

  #own(upload, row, sending) {
    const early = this.#rows.get(upload.id); // a message about it may have come before this answer
    if (early && early !== row) early.element.remove();
    this.#rows.set(upload.id, row);
    this.#sending.set(upload.id, sending);
    this.#stamps[upload.id] = stampOf(sending.files);
    this.#remember(upload.id, true);
  }

  #release(sending) {
    this.#sending.delete(sending.id);
    this.#remember(sending.id, false);
  }

  #remember(id, sending) {
    if (sending) this.#mine.add(id);
    else this.#mine.delete(id);
    try {
      sessionStorage.setItem(MINE, JSON.stringify([...this.#mine]));
      localStorage.setItem(STAMPS, JSON.stringify(this.#stamps));
    } catch { /* without storage, uploads are recognised by their silence, and files by names and sizes */ }
  }

  #lookForSilentOnes() {
    for (const [id, upload] of this.#uploads) {
      const row = this.#rows.get(id), silent = Date.now() - upload.at > SILENT;
      if (this.#sending.has(id) || row.element.dataset.state !== upload.state) continue;
      if (upload.state === "receiving" && (silent || this.#mine.has(id))) this.#breakOff(upload, row);
      else if (["waiting", "importing", "adding"].includes(upload.state) && silent) row.silent();
    }
  }

  async #cancel({ id }) {
    try {
      this.take(await request(`/api/uploads/${id}/cancel`, { method: "POST", headers: this.csrf }));
    } catch (error) {
      this.on.trouble(error.message);
    }
  }
}

function remembered(storage, key, otherwise) {
  try { return JSON.parse(storage().getItem(key)) ?? otherwise; } catch { return otherwise; }
}

const stampOf = (files) => files.reduce((sum, { file }) => sum + file.lastModified, 0);
