// This module reads and writes the query string of the browser's address, in which the store keeps its state.

/** Returns an object with `read()` → the query string "?…", and `write(search, push)`, which replaces it, or adds a step to the browser's history if `push` is true. */
export function addressBar() {
  let timer = 0;
  const replace = (search) => history.replaceState(null, "", location.pathname + search);
  return {
    read: () => location.search,
    write(search, push) {
      clearTimeout(timer);
      if (push) history.pushState(null, "", location.pathname + search);
      else timer = setTimeout(replace, 150, search); // browsers limit how often an address may change
    },
  };
}
