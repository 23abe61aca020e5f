// The report's address: a file has no query, so what the store says stands behind the #, where anchors stand too.

export function addressBar() {
  const { search } = document.body.dataset; // that it opens with
  let last = search ? `?${search}` : "";
  let timer = 0;
  const write = (how, search) => {
    try { history[how](null, "", `#${search.slice(1)}`); } catch { /* where a viewer shows the file in a frame, there is no history */ }
  };
  return {
    read() {
      if (location.hash.includes("=")) last = `?${location.hash.slice(1)}`;
      return last; // an anchor changes nothing
    },
    write(search, push) {
      last = search;
      clearTimeout(timer);
      if (push) write("pushState", search);
      else timer = setTimeout(write, 150, "replaceState", search);
    },
  };
}
