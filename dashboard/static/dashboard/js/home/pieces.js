// Sends one piece of a file, and waits out what passes: a network or a server that is away for a while.

import { ApiError } from "../state/api.js";

const SILENCE = 30_000; // ms without a byte going out, after which a connection is taken to be dead
const PAUSES = [1, 2, 4, 8, 15]; // seconds before the next attempt

/** The piece as the body of a PUT; `onProgress` is told how many of its bytes are out. The answer, or an ApiError. */
export function put(url, offset, piece, { csrf, signal, onProgress }) {
  return new Promise((resolve, reject) => {
    const call = new XMLHttpRequest(); // fetch tells no progress of what it sends
    let watch;
    const listen = () => {
      clearTimeout(watch);
      watch = setTimeout(() => call.abort(), SILENCE);
    };
    const stop = () => call.abort();
    const end = (settle, value) => {
      clearTimeout(watch);
      signal.removeEventListener("abort", stop);
      settle(value);
    };
    const away = () => end(reject, new ApiError("The server cannot be reached", "It may be restarting.", 0));
    call.open("PUT", url);
    call.responseType = "json";
    for (const [name, value] of Object.entries({ ...csrf, "Upload-Offset": offset, "Content-Type": "application/octet-stream" }))
      call.setRequestHeader(name, value);
    call.upload.addEventListener("progress", ({ loaded }) => {
      listen();
      onProgress(loaded);
    });
    call.addEventListener("load", () => {
      const { response: told, status } = call;
      if (status === 200 && told) return end(resolve, told);
      const error = new ApiError(told?.title ?? "The server failed", told?.detail ?? `It answered ${status}.`, status);
      end(reject, Object.assign(error, { received: told?.received }));
    });
    call.addEventListener("error", away);
    call.addEventListener("abort", () => (signal.aborted ? end(reject, signal.reason) : away()));
    signal.addEventListener("abort", stop);
    if (signal.aborted) return end(reject, signal.reason);
    listen();
    call.send(piece);
  });
}

const passes = ({ status, name }) => name !== "AbortError" && (status === 0 || status === 429 || (status >= 500 && status !== 507));

/** Does it until it is done or refused. `onPause(seconds)` is told before each wait, which ends early with the network back. */
export async function patiently(attempt, { signal, onPause }) {
  for (let failures = 0; ; failures += 1) {
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      if (!passes(error)) throw error;
    }
    const seconds = PAUSES[Math.min(failures, PAUSES.length - 1)];
    onPause(seconds);
    await pause(seconds, signal);
  }
}

const pause = (seconds, signal) => new Promise((resolve) => {
  const over = () => {
    clearTimeout(timer);
    removeEventListener("online", over);
    signal.removeEventListener("abort", over);
    resolve();
  };
  const timer = setTimeout(over, seconds * 1000);
  addEventListener("online", over);
  signal.addEventListener("abort", over);
});
