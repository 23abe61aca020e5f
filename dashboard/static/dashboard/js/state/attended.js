// This module tells whether somebody uses the page, so that what the page asks for by itself does not keep a session alive.

const SOON = 60_000; // ms after which nobody uses a page that nobody touches
let touched = performance.now();

for (const event of ["pointerdown", "pointermove", "keydown", "wheel"]) {
  addEventListener(event, () => { touched = performance.now(); }, { capture: true, passive: true });
}

/** Returns the header that requests have which nobody has asked for; no header if somebody uses the page. */
export function unattended() {
  return performance.now() - touched > SOON ? { "Causeline-Unattended": "yes" } : {};
}
