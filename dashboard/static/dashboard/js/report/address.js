// This module replaces ../state/address.js in a report. A file has no query string, so the state of the page is in the
// fragment of the address, where anchors are, too.

/** Returns an address bar for the store, as ../state/address.js does. */
export function addressBar() {
  const { search } = document.body.dataset; // the state in which it opens
  let last = search ? `?${search}` : "";
  let timer = 0, waiting = null; // what is written when the timer ends
  const write = (how, search) => {
    try { history[how](null, "", `#${search.slice(1)}`); } catch { /* there is no history if a viewer shows the file in a frame */ }
  };
  const replace = () => {
    clearTimeout(timer);
    if (waiting !== null) write("replaceState", waiting);
    waiting = null;
  };
  return {
    read() {
      waiting = null; // it belongs to the page that the Back button has left
      if (location.hash.includes("=")) last = `?${location.hash.slice(1)}`;
      return last; // an anchor does not change the state
    },
    write(search, push) {
      last = search;
      if (push) {
        replace(); // the Back button leads to what was seen last
        return write("pushState", search);
      }
      waiting = search;
      clearTimeout(timer);
      timer = setTimeout(replace, 150);
    },
  };
}
