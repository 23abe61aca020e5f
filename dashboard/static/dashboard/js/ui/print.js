// This module makes the page light and of one width for printing.

let theme;

/** `draw()` is called when the page has its width for printing, and again when it has its old width. */
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
