// This module describes the state of a live source in words.

import { viewToken } from "../state/address.js";
import { duration } from "../state/durations.js";

const NAMED = 3; // the most resources that are named

const listed = (names) => names.slice(0, NAMED).join(", ") + (names.length > NAMED ? ` and ${names.length - NAMED} more` : "");
const seconds = (length) => `${(Math.max(0, length) / 1e6).toFixed(1)} s`;

/**
 * Returns {words, tone, about} of the state: a short text, "good", "wait", "still" or "bad", and an explanation. `connection`
 * is a state of socket.js or "gone", `health` is the server's latest message, and `behind` is the delay of changes in µs.
 */
export function describe(connection, health, behind) {
  if (connection === "signed out" && viewToken()) return { words: "expired", tone: "bad", about: "Ask whoever embedded this view for a new one." };
  if (connection === "signed out") return { words: "signed out", tone: "bad", about: "Load the page again to sign in." };
  if (connection === "gone") return { words: "deleted", tone: "bad", about: "This source was deleted." };
  if (connection !== "connected" || !health) return { words: health ? "reconnecting…" : "connecting…", tone: "wait", about: "The picture stays as it was until the connection is back." };
  const silent = health.silent === null ? "" : ` · last event ${duration(health.silent)} ago`;
  switch (health.state) {
    case "ended": return { words: "ended", tone: "still", about: health.error };
    case "paused": return { words: "collection paused", tone: "still", about: "Somebody paused the collection of this cluster." };
    case "waiting": return { words: `waiting for a worker${silent}`, tone: "bad", about: "No worker watches this cluster at the moment. What happens meanwhile is read later, or shown as a gap." };
    case "failing": return { words: `cluster not reachable${silent}`, tone: "bad", about: health.error };
    case "connecting": return { words: "connecting to the cluster…", tone: "wait", about: "" };
    default:
      if (health.listing.length) return { words: `connected · listing ${listed(health.listing)} …`, tone: "wait", about: "" };
      return { words: behind === null ? "connected" : `connected · ${seconds(behind)} behind`, tone: "good", about: "Time from the cluster's answer until this page received it" };
  }
}

/** Returns the sentence that replaces the lanes while nothing has been observed. */
export function nothing(connection, health) {
  const { words } = describe(connection, health, null);
  const sentence = words.replace(/ …$/, "…");
  return `${sentence[0].toUpperCase()}${sentence.slice(1)}${/[….]$/.test(sentence) ? "" : "."} Nothing has been observed yet.`;
}
