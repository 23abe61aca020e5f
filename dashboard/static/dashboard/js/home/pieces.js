// This module sends one piece of a file, and tries again while the network or the server is unavailable.

import { ApiError } from "../state/api.js";

const SILENCE = 30_000; // ms without a byte sent after which a connection counts as dead
const PAUSES = [1, 2, 4, 8, 15]; // seconds before the next attempt

/** Sends a piece of a file as the body of a PUT. `onProgress(bytes)` gets the number of bytes sent so far. Resolves with the answer, or rejects with an ApiError. */
export function put(url, offset, piece, { csrf, signal, onProgress }) {
  return new Promise((resolve, reject) => {
    const call = new XMLHttpRequest(); // fetch does not report the progress of an upload
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
      const { response: answer, status } = call;
      if (status === 200 && answer) return end(resolve, answer);
      const error = new ApiError(answer?.title ?? "The server failed", answer?.detail ?? `It answered ${status}.`, status);
      end(reject, Object.assign(error, { received: answer?.received }));
    });
    call.addEventListener("error", away);
    call.addEventListener("abort", () => (signal.aborted ? end(reject, signal.reason) : away()));
    signal.addEventListener("abort", stop);
    if (signal.aborted) return end(reject, signal.reason);
    listen();
    call.send(piece);
  });
}

/** Returns whether an error may be temporary, so that a request is worth repeating. */
const passes = ({ status, name }) => name !== "AbortError" && (status === 0 || status === 429 || (status >= 500 && status !== 507));

/** Repeats a request until it succeeds or fails with an error that is not temporary. `onPause(seconds)` is called before each wait, which ends early when the network is back. */
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
