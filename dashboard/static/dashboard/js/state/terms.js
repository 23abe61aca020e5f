// This module completes the terms of searches, such as `ns:shop rule:lease-stolen`, writes a filter as terms, and keeps the
// searches that a reader saves in this browser. What terms mean is said by the server alone (timeline/queries/syntax.py). It does
// not use the DOM.

const STORED = "causeline-searches";
const MOST = 8; // completions that are offered at once
const KEPT = 50; // searches that are kept

/** The terms, each with what it means. */
export const TERMS = {
  kind: "a kind: pod, deploy, leases", ns: "a namespace", name: "a part of a name", rule: "the rule that was broken", severity: "error, warning or info",
  actor: "who wrote it", node: "Pods that were on a node", image: "Pods with a part of an image", is: "incidents that are open, or over",
  since: "from a time on: 05:57:50, -15m", until: "up to a time",
};
const TIME = /(since|until):(?:"([^"]*)"|(\S+))/gi;
// The parameters of addresses, and the terms that mean them.
const WRITTEN = { kinds: "kind", kind: "kind", namespace: "ns", rule: "rule", severity: "severity", actor: "actor", node: "node", image: "image", state: "is", name: "name" };

const quoted = (value) => (/\s/.test(value) ? `"${value}"` : value);

/** Returns a filter {parameter: value} as a search. */
export const textOf = (filter) =>
  [...Object.entries(WRITTEN).filter(([name]) => filter[name]?.length).map(([name, term]) => `${term}:${quoted(String(filter[name]).toLowerCase() === "ongoing" ? "open" : String(filter[name]))}`), filter.q].filter(Boolean).join(" ");

/** Returns what may follow in a search: [{text (the whole search then), label, about}]. `choices` has the known values of terms. */
export function completions(text, choices) {
  const [, head, last] = /^(.*?)(\S*|[a-z]+:"[^"]*)$/is.exec(text);
  const [, term, value] = /^([a-z]+):"?(.*)$/i.exec(last) ?? [];
  if (term === undefined) return Object.keys(TERMS).filter((name) => name.startsWith(last.toLowerCase())).map((name) => ({ text: `${head}${name}:`, label: `${name}:`, about: TERMS[name] }));
  const name = term.toLowerCase() === "namespace" ? "ns" : term.toLowerCase();
  const known = { severity: ["error", "warning", "info"], is: ["open", "over"], ...choices }[name] ?? [];
  return known.filter((each) => each && each !== value && each.toLowerCase().includes(value.toLowerCase())).slice(0, MOST)
    .map((each) => ({ text: `${head}${term}:${quoted(each)} `, label: `${term}:${each}`, about: TERMS[name] }));
}

const iso = (time) => new Date(Math.floor(time / 1000)).toISOString().replace("Z", `${String(time % 1000).padStart(3, "0")}Z`);

/** Returns the terms for a range of time {start, end} (µs). */
export const between = ({ start, end }) => `since:${iso(start)} until:${iso(end)}`;

/** Returns a search with the times of its terms as the server reads them. `read(text)` is like readTime; what it cannot read stays. */
export const withTimes = (text, read) => text.replace(TIME, (whole, term, quotation, bare) => {
  const value = quotation ?? bare, found = read(value);
  if (!found) return whole;
  const ends = term.toLowerCase() === "until" && !/^([-−]|[\d.]+(ms|[smhdw]))/i.test(value); // "until:-15m" and "until:15m" are the moment 15 minutes ago
  return `${term}:${iso(found.at ?? (ends ? found.end : found.start))}`;
});

/** Returns the saved searches, the last one first. */
export function saved() {
  try { return JSON.parse(localStorage.getItem(STORED) ?? "[]").filter((each) => typeof each === "string"); } catch { return []; } // storage can be forbidden
}

/** Saves a search, or forgets it if it is saved. */
export function toggleSaved(text) {
  const others = saved().filter((each) => each !== text);
  const kept = others.length < saved().length ? others : [text, ...others].slice(0, KEPT);
  try { localStorage.setItem(STORED, JSON.stringify(kept)); } catch { /* then nothing is saved */ }
}
