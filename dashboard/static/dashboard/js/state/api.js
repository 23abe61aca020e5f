// This module sends requests to the server. It does not use the DOM.

import { viewToken } from "./address.js";
import { unattended } from "./attended.js";
import { Creations } from "./creations.js";

/** An error of a request, with the server's title and detail, and the HTTP status; 0 if there was no answer. */
export class ApiError extends Error {
  constructor(title, detail, status) {
    super(detail ? `${title}: ${detail}` : title);
    this.title = title;
    this.detail = detail;
    this.status = status;
  }
}

/** Returns whether a request failed because no server was there to answer it, as while it restarts. */
export const isAway = ({ status }) => [0, 502, 503, 504].includes(status);

let first = null; // the opening, whose window answers the first question for one

/** Fetches what the page shows first, for which ahead.js has asked already: {view, overview, incidents, finding, findings, window, lanes}. If `fresh()` says that it is not what the page asks for any more, it is only the view. */
export async function opening(fresh) {
  const { asked, answer } = globalThis.causelineOpening;
  globalThis.causelineOpening = { asked };
  const found = await request(asked, {}, answer);
  first = fresh() ? found : null;
  return first ?? { view: found.view };
}

/** Sends a request, unless it was `sent` already, and resolves with the decoded JSON, or null if the answer is empty. Rejects with an ApiError, or an AbortError. */
export async function request(path, options = {}, sent = null) {
  let response;
  try {
    const view = viewToken();
    response = await (sent ?? fetch(path, { headers: { Accept: "application/json", ...unattended(), ...(view && { "Causeline-View": view }) }, ...options }));
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The server cannot be reached", "It may be restarting; try again in a moment.", 0);
  }
  if (response.status === 204) return null;
  const body = await response.json().catch((error) => {
    if (error.name === "AbortError") throw error; // the request was aborted while the answer was being read
    return null;
  });
  if (response.ok && body !== null) return body;
  if (response.status === 401 && viewToken()) throw new ApiError("This view has expired", "Ask whoever embedded it for a new one.", 401);
  if (response.redirected || response.ok || response.status === 401) throw new ApiError("You are signed out", "Load the page again to sign in.", 401);
  throw new ApiError(body?.title ?? "The server failed", body?.detail ?? `It answered ${response.status}.`, response.status);
}


/** Returns the parameters of a query, without empty texts, empty lists and switches that are off. */
function query(question) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(question)) {
    if (value === null || value === undefined || value === "" || value === false || value?.length === 0) continue;
    parameters.set(name, value === true ? 1 : value);
  }
  return parameters;
}

/** Fetches the overview of the whole source. With a root owner as `scope`, it has only the findings of that. */
export const overview = (source, scope) => request(`/api/sources/${source}/overview${scope ? `?scope=${scope}` : ""}`);

/** Fetches a page of the findings that match: {findings, next, total}. */
export const findings = (source, question) => request(`/api/sources/${source}/findings?${query(question)}`);

/** Fetches a page of the incidents that match: {incidents, findings, next, total, …}. */
export const incidents = (source, question) => request(`/api/sources/${source}/incidents?${query(question)}`);

export const incident = (source, id) => request(`/api/sources/${source}/incidents/${id}`);

/** Fetches the changes of two moments {time (µs), track}: that of the track, or without one the latest of the whole source: {start, end, …}. */
export const measure = (source, { start, end }) =>
  request(`/api/sources/${source}/measure?${query({ start: Math.max(0, start.time), start_track: start.track, end: Math.max(0, end.time), end_track: end.track })}`);

/** Fetches one change of a track: that with a `sequence`, or that at a time `at` (µs) with a `revision`. */
export const change = (source, track, question) => request(`/api/sources/${source}/tracks/${track}/change?${query(question)}`);

/** Fetches how an object at revision `stood` differed from an actor's copy at revision `copied`. `path` is that of its track: "/api/sources/1/tracks/2". */
export const copy = (path, { copied, stood }) => request(`${path}/copy?${query({ copied, stood })}`);

/** The creation numbers that the page shows, of all windows. */
export const creations = new Creations();

/** Fetches what people changed before a time: {changes, …}, the likeliest to matter first. */
export const changes = (source, question) => request(`/api/sources/${source}/changes?${query(question)}`);

/** Fetches the alerts of a source that fired between two times (µs): {alerts, more}, the newest first. */
export const alerts = (source, question) => request(`/api/sources/${source}/alerts?${query(question)}`);

/** Fetches the logs of programs in a source: {logs [{log (its number), lane, label, …}], more}. */
export const logs = (source) => request(`/api/sources/${source}/logs`);

/** Fetches where the lines of some logs are: [{log, time, count, level, text}], as columns. */
export const logMarks = (source, question) => request(`/api/sources/${source}/logs/marks?${query(question)}`);

/** Fetches the lines of logs that prove the finding with this key: [{log, sequence, time, text, …}]. */
export const logProof = (source, finding) => request(`/api/sources/${source}/logs/proof?${query({ finding })}`);

/** Fetches one line of a log: that with a `sequence`, or the first one from a time `at` (µs) on. */
export const logLine = (source, log, question) => request(`/api/sources/${source}/logs/${log}/line?${query(question)}`);

/** Returns whether the window of the opening answers a question: it contains that range, with a scale that differs by less than a factor of two, and has at least as many lanes. */
function fits({ view, window, lanes }, { start, end, offset, limit, keep = [] }) {
  const inside = Math.max(start, window.first) >= window.start && Math.min(end, window.last) <= window.end;
  const scale = (view.start === null ? window.last - window.first : view.end - view.start) / (end - start);
  return inside && scale > 0.5 && scale < 2 && offset === 0 && limit <= lanes && !keep.length;
}

/** Fetches windows of one source. A new request aborts the previous one, which then never resolves. */
export class Windows {
  #controller = null;

  constructor(source) {
    this.source = source;
  }

  async ask(question) {
    this.#controller?.abort();
    this.#controller = new AbortController();
    const payload = this.#first(question) ?? (await request(`/api/sources/${this.source}/window?${query(question)}`, { signal: this.#controller.signal }));
    return creations.keep(payload, (question.group ?? "owner") === "owner");
  }

  /** Returns the window that came with the opening, once, if it answers the question. */
  #first(question) {
    const given = first;
    first = null;
    return given?.window && fits(given, question) ? given.window : null;
  }
}
