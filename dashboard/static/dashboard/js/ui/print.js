// This module gives the page the light theme and a fixed width while it is printed.

let theme;

/** Calls `draw()` when the page has the width for printing, and again when it has its old width. */
export function onPaper(draw) {
  const root = document.documentElement;
  addEventListener("beforeprint", () => {
    theme = root.dataset.theme;
    root.dataset.theme = "light";
    document.body.classList.add("paper");
    draw();
  });
  addEventListener("afterprint", () => {
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
    document.body.classList.remove("paper");
    draw();
  });
}
