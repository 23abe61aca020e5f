// This module reads and writes the query string of the browser's address, in which the store keeps its state.

/** The parameters of a shared timeline that are not the store's: they say who may see it. */
export const OWN = ["embed", "view_token"];

/** Returns the text of the share link with which a shared timeline sends its requests; null on other pages. */
export const viewToken = () => new URLSearchParams(location.search).get("view_token");

/** Returns an object with `read()` → the query string "?…", and `write(search, push)`, which replaces it, or adds a step to the browser's history if `push` is true. */
export function addressBar() {
  const own = new URLSearchParams([...new URLSearchParams(location.search)].filter(([name]) => OWN.includes(name))).toString();
  const whole = (search) => location.pathname + (own ? `?${own}${search.replace("?", "&")}` : search);
  let timer = 0, waiting = null; // what is written when the timer ends
  const replace = () => {
    clearTimeout(timer);
    if (waiting !== null) history.replaceState(null, "", whole(waiting));
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
        return history.pushState(null, "", whole(search));
      }
      waiting = search;
      clearTimeout(timer);
      timer = setTimeout(replace, 150); // browsers limit how often an address may change
    },
  };
}
