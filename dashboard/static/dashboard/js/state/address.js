// This module reads and writes the query string of the browser's address, in which the store keeps its state.

/** Returns an object with `read()` → the query string "?…", and `write(search, push)`, which replaces it, or adds a step to the browser's history if `push` is true. */
export function addressBar() {
  let timer = 0, waiting = null; // what is written when the timer ends
  const replace = () => {
    clearTimeout(timer);
    if (waiting !== null) history.replaceState(null, "", location.pathname + waiting);
    waiting = null;
  };
  return {
    read() {
      waiting = null; // it belongs to the page that the Back button has left
      return location.search;
    },
    write(search, push) {
      if (push) {
        replace(); // the Back button leads to what was seen last
        return history.pushState(null, "", location.pathname + search);
      }
      waiting = search;
      clearTimeout(timer);
      timer = setTimeout(replace, 150); // browsers limit how often an address may change
    },
  };
}
