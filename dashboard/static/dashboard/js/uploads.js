// The home page: sends recordings, shows how far their import is, deletes.

import { request } from "./api.js";
import { byId, el } from "./dom.js";
import { clock, day, duration } from "./time.js";

const csrf = { "X-CSRFToken": document.body.dataset.csrf };
const rows = new Map(); // upload id → Row
const announce = (text) => (byId("announce").textContent = text);

function bytes(count) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, count)) / 3)));
  return `${(count / 1000 ** power).toFixed(power ? 1 : 0)} ${units[power]}`;
}
const count = (number, one, several = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : several}`;

class Row {
  constructor(name) {
    this.title = el("strong", { class: "upload-name" }, name);
    this.state = el("span", { class: "upload-state" });
    this.bar = el("progress", { max: 1, "aria-label": `Progress of ${name}` });
    this.detail = el("div", { class: "upload-detail" });
    this.action = el("span", { class: "upload-action" });
    this.element = el("li", { class: "upload" }, el("div", { class: "upload-head" }, this.title, this.state, this.action), this.bar, this.detail);
    byId("uploads").prepend(this.element);
  }

  button(text, act) {
    const button = el("button", { type: "button", class: "button quiet" }, text);
    button.addEventListener("click", act);
    this.action.replaceChildren(button);
  }

  sending(sent, total) {
    this.state.textContent = `sending · ${bytes(sent)} of ${bytes(total)}`;
    this.bar.value = total ? sent / total : 0;
  }

  failed(title, detail) {
    this.element.dataset.state = "failed";
    this.state.textContent = "";
    this.bar.hidden = true;
    this.detail.replaceChildren(el("p", { class: "alert", role: "alert" }, el("strong", {}, title.replace(/\.?$/, ".")), detail ? ` ${detail}` : ""));
    this.button("Dismiss", () => this.element.remove());
  }

  show(upload) {
    this.title.textContent = upload.name;
    this.element.dataset.state = upload.state;
    this.bar.hidden = !["receiving", "waiting", "importing"].includes(upload.state);
    const known = upload.bytes_total > 0 && upload.state === "importing";
    if (known) this.bar.value = upload.bytes_read / upload.bytes_total;
    else this.bar.removeAttribute("value");
    this.state.textContent = {
      receiving: "receiving…", waiting: "waiting for a worker…",
      importing: `reading · ${count(upload.entries, "entry", "entries")}`,
      done: `${count(upload.entries, "entry", "entries")} · ${count(upload.findings, "finding")}`,
      failed: "", cancelled: "cancelled",
    }[upload.state];
    this.detail.replaceChildren(...skipped(upload));
    if (upload.state === "done") this.finish(upload);
    else if (upload.state === "failed") {
      const examples = skipped(upload);
      this.failed("It could not be imported.", upload.error);
      this.detail.append(...examples);
    } else if (upload.state === "cancelled") this.button("Dismiss", () => this.element.remove());
    else this.button("Cancel", () => request(`/api/uploads/${upload.id}/cancel`, { method: "POST", headers: csrf }).then((told) => take(told), (error) => announce(error.message)));
  }

  finish(upload) {
    this.action.replaceChildren(el("a", { class: "button primary", href: upload.url }, "Open timeline"));
    announce(`${upload.name} was imported: ${count(upload.findings, "finding")}.`);
  }
}

function skipped(upload) {
  if (!upload.skipped) return [];
  const shown = upload.skipped_examples;
  return [el("details", { class: "skipped", open: upload.state !== "importing" }, el("summary", {}, `${count(upload.skipped, "line")} skipped`),
    el("ul", {}, shown.map((line) => el("li", {}, line)), upload.skipped > shown.length ? el("li", { class: "soft" }, `and ${upload.skipped - shown.length} more`) : null))];
}

const FINAL = new Set(["done", "failed", "cancelled"]);

/** Takes an upload's news over; those of other tabs get a row too while they run. */
function take(upload) {
  let row = rows.get(upload.id);
  if (!row) {
    if (FINAL.has(upload.state)) return;
    row = new Row(upload.name);
    rows.set(upload.id, row);
  }
  if (FINAL.has(row.element.dataset.state)) return; // news can overtake each other
  row.show(upload);
  if (upload.state === "done") refresh();
}

function send(file) {
  const row = new Row(file.name);
  if (file.size === 0) return row.failed("The file is empty.", "Choose a recording that has entries in it.");
  const call = new XMLHttpRequest();
  call.open("POST", `/api/uploads?name=${encodeURIComponent(file.name)}`);
  call.setRequestHeader("X-CSRFToken", csrf["X-CSRFToken"]);
  call.setRequestHeader("Content-Type", "application/octet-stream");
  call.responseType = "json";
  call.upload.addEventListener("progress", (event) => row.sending(event.loaded, event.total || file.size));
  call.addEventListener("load", () => {
    const { response, status } = call;
    if (status === 201 && response) {
      const early = rows.get(response.id); // its news may have come before this answer
      if (early) early.element.remove();
      rows.set(response.id, row);
      take(response);
      if (early) reconcile(response.id);
    } else row.failed(response?.title ?? "The server did not take the file.", response?.detail ?? `It answered ${status}.`);
  });
  call.addEventListener("error", () => row.failed("The connection broke while sending.", "Check that the server runs, then send the file again."));
  call.addEventListener("abort", () => row.element.remove());
  row.sending(0, file.size);
  row.button("Cancel", () => call.abort());
  call.send(file);
}

async function reconcile(id) {
  try {
    take(await request(`/api/uploads/${id}`));
  } catch (error) {
    if (error.status === 404) rows.get(id)?.failed("This upload is gone.", "It was deleted meanwhile.");
  }
}

// -- news over the WebSocket, with polling as what is left when it is down -----------------------------------------------

let pause = 500;
function connect() {
  const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/uploads/`);
  socket.addEventListener("open", () => {
    pause = 500;
    pollOpen();
  });
  socket.addEventListener("message", ({ data }) => {
    const message = JSON.parse(data);
    if (message.type === "upload") take(message.upload);
  });
  socket.addEventListener("close", () => {
    pollOpen();
    setTimeout(connect, pause);
    pause = Math.min(pause * 2, 10_000);
  });
}
const pollOpen = () => [...rows].filter(([, row]) => !FINAL.has(row.element.dataset.state)).forEach(([id]) => reconcile(id));

// -- the list ---------------------------------------------------------------------------------------------------------

/** The server draws the list; its fresh version replaces the old. */
async function refresh() {
  const page = new DOMParser().parseFromString(await (await fetch(location.pathname)).text(), "text/html");
  const fresh = page.getElementById("recordings");
  if (fresh) byId("recordings").replaceWith(document.adoptNode(fresh));
  localSpans();
  localCounts();
}

function localSpans() {
  for (const time of document.querySelectorAll("time[data-first]")) {
    const first = Number(time.dataset.first), last = Number(time.dataset.last);
    time.replaceChildren(`${day(first)} ${clock(first, 0)} – ${clock(last, 0)}`, " ", el("span", { class: "soft" }, duration(last - first)));
  }
}

function localCounts() {
  for (const cell of document.querySelectorAll("td[data-count]")) cell.textContent = Number(cell.dataset.count).toLocaleString("en");
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-delete]");
  if (!button) return;
  const dialog = byId("confirm");
  byId("confirm-name").textContent = button.dataset.name;
  dialog.returnValue = "keep";
  dialog.showModal();
  dialog.addEventListener("close", async () => {
    if (dialog.returnValue !== "delete") return button.focus();
    try {
      await request(`/api/sources/${button.dataset.delete}`, { method: "DELETE", headers: csrf });
      announce(`${button.dataset.name} was deleted.`);
      await refresh();
    } catch (error) {
      new Row(button.dataset.name).failed("It could not be deleted.", error.message);
    }
  }, { once: true });
});

// -- ways in ----------------------------------------------------------------------------------------------------------

const input = byId("file"), veil = byId("veil");
byId("choose").addEventListener("click", () => input.click());
input.addEventListener("change", () => {
  for (const file of input.files) send(file);
  input.value = "";
});
const carriesFiles = (event) => event.dataTransfer?.types.includes("Files");
addEventListener("dragenter", (event) => carriesFiles(event) && (veil.hidden = false));
addEventListener("dragover", (event) => carriesFiles(event) && event.preventDefault());
addEventListener("dragleave", (event) => event.relatedTarget === null && (veil.hidden = true));
addEventListener("drop", (event) => {
  veil.hidden = true;
  if (!carriesFiles(event)) return;
  event.preventDefault();
  const files = [...event.dataTransfer.files];
  if (files.length === 1) send(files[0]);
  else if (files.length) new Row(`${files.length} files`).failed("One recording at a time, please.", "Drop a single file.");
});

localSpans();
localCounts();
connect();
