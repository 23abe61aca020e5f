// This module loads the page again as soon as the server answers. Otherwise the browser would show its own error page in its
// place, from which nothing leads back.

import { unattended } from "../state/attended.js";

const PAUSE = 1_000; // ms between two questions

/** Loads the page again once the server answers, whatever it answers. */
export async function reloadPage() {
  try {
    const { status } = await fetch(location.href, { method: "HEAD", redirect: "manual", headers: unattended() });
    if (status < 500) return location.reload();
  } catch { /* nobody answers yet */ }
  setTimeout(reloadPage, PAUSE);
}
