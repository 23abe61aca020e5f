// This script chooses the light or dark theme: the system's until the reader chooses one. It is a classic script in the
// head, so that no page flashes.
(() => {
  const KEY = "causeline-theme";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");

  const chosen = () => {
    try { return localStorage.getItem(KEY); } catch { return null; } // storage can be forbidden
  };
  const apply = (theme) => {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
  };
  const notify = () => document.dispatchEvent(new Event("themechange"));

  apply(chosen());
  system.addEventListener("change", notify);
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-switch]")) return;
    const shown = root.dataset.theme ?? (system.matches ? "dark" : "light");
    const next = shown === "dark" ? "light" : "dark";
    apply(next);
    try { localStorage.setItem(KEY, next); } catch { /* then the choice is valid for this page only */ }
    notify();
  });
})();
