// For paper the page is light and of one width, whatever the screen.

let theme;

/** `draw()` is called once the page has its new width, and again when it has its old one back. */
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
