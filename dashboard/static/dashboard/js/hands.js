// The pointer on the plot: the wheel zooms at the cursor, dragging pans, two fingers pinch, hovering tells.

/** `onHover({x, y, clientX, clientY} | null)`: x and y in pixels of the plot. */
export function handle(figure, { store, bench, onHover }) {
  const pointers = new Map();
  const at = (event) => {
    const box = figure.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top, width: box.width };
  };

  figure.addEventListener("wheel", (event) => {
    if (event.ctrlKey && event.deltaY === 0) return;
    event.preventDefault();
    onHover(null);
    const { x, width } = at(event);
    const pixels = event.deltaMode === 1 ? 16 : 1;
    const sideways = event.shiftKey ? event.deltaX || event.deltaY : Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : 0;
    if (sideways) store.pan((sideways * pixels) / width);
    else store.zoom(Math.exp(Math.max(-1, Math.min(1, (event.deltaY * pixels) / 400))), x / width);
  }, { passive: false });

  figure.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, event);
    figure.setPointerCapture(event.pointerId);
    onHover(null);
  });
  figure.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return event.pointerType === "mouse" ? onHover({ ...at(event), clientX: event.clientX, clientY: event.clientY }) : undefined;
    const { width } = at(event);
    if (pointers.size === 2) {
      const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, held]) => held);
      const apart = Math.max(20, Math.abs(before.clientX - other.clientX)), now = Math.max(20, Math.abs(event.clientX - other.clientX));
      store.zoom(apart / now, at(other).x / width);
    } else {
      figure.classList.add("dragged");
      if (event.pointerType === "mouse") bench.scrollTop -= event.clientY - before.clientY; // fingers scroll by themselves
      if (event.clientX !== before.clientX) store.pan((before.clientX - event.clientX) / width);
    }
    pointers.set(event.pointerId, event);
  });
  const release = (event) => {
    pointers.delete(event.pointerId);
    figure.classList.remove("dragged");
  };
  figure.addEventListener("pointerup", release);
  figure.addEventListener("pointercancel", release);
  figure.addEventListener("pointerleave", () => onHover(null));
}
