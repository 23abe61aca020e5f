// This module reads and writes the browser's address for the store.

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
