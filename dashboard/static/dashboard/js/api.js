// Talks to the server. Free of the DOM.

export class ApiError extends Error {
  constructor(title, detail, status) {
    super(detail ? `${title}: ${detail}` : title);
    this.title = title;
    this.detail = detail;
    this.status = status;
  }
}

export async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { headers: { Accept: "application/json" }, ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The server cannot be reached", "It may be restarting; try again in a moment.", 0);
  }
  if (response.status === 204) return null;
  const body = await response.json().catch(() => null);
  if (response.ok && body !== null) return body;
  if (response.redirected || response.ok || response.status === 401) throw new ApiError("You are signed out", "Load the page again to sign in.", 401);
  throw new ApiError(body?.title ?? "The server failed", body?.detail ?? `It answered ${response.status}.`, response.status);
}

export const overview = (source) => request(`/api/sources/${source}/overview`);

/** Windows of one source. A new question aborts the one before it, which then never settles with an answer. */
export class Windows {
  #controller = null;

  constructor(source) {
    this.source = source;
  }

  async ask({ start, end, offset, limit, kinds, namespace, focus }) {
    this.#controller?.abort();
    this.#controller = new AbortController();
    const parameters = new URLSearchParams({ offset, limit, group: "owner" });
    if (start !== null) {
      parameters.set("start", start);
      parameters.set("end", end);
    }
    if (focus !== undefined) parameters.set("focus", focus);
    if (kinds.length) parameters.set("kinds", kinds.join(","));
    if (namespace) parameters.set("namespace", namespace);
    this.findings ??= request(`/api/sources/${this.source}/findings?limit=500`);
    const asked = request(`/api/sources/${this.source}/window?${parameters}`, { signal: this.#controller.signal });
    return { ...(await asked), findings: (await this.findings).findings };
  }
}
