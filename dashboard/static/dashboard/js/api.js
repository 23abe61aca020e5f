// This script gives the description of the API, which Swagger UI draws, the theme of the page.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const theme = document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
    document.documentElement.classList.toggle("dark-mode", theme === "dark");
  };
  apply();
  document.addEventListener("themechange", apply);
})();
