// This module replaces ../state/address.js in a report. A file has no query, so the state is in the fragment, like anchors.

export function addressBar() {
  const { search } = document.body.dataset; // the state in which it opens
  let last = search ? `?${search}` : "";
  let timer = 0;
  const write = (how, search) => {
    try { history[how](null, "", `#${search.slice(1)}`); } catch { /* there is no history if a viewer shows the file in a frame */ }
  };
  return {
    read() {
      if (location.hash.includes("=")) last = `?${location.hash.slice(1)}`;
      return last; // an anchor does not change the state
    },
    write(search, push) {
      last = search;
      clearTimeout(timer);
      if (push) write("pushState", search);
      else timer = setTimeout(write, 150, "replaceState", search);
    },
  };
}
