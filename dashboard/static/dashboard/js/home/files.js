// This module turns what a user chose or dropped into one recording: its name, and its files with their paths.

const hidden = (path) => path.split("/").some((part) => part.startsWith(".") || part === "__MACOSX");

function bundle(files, folder = "") {
  const shown = files.filter(({ name }) => !hidden(name)).sort((a, b) => (a.name < b.name ? -1 : 1));
  const rest = shown.length - 1;
  const name = folder || (rest > 0 ? `${shown[0].name} and ${rest} more` : (shown[0]?.name ?? files[0]?.name ?? "recording"));
  return { name, files: shown, left: files.length - shown.length };
}

/** Returns the recording of a file input. Several files are one recording; files of a folder have its name. */
export function chosen(list) {
  const files = [...list].map((file) => ({ name: file.webkitRelativePath || file.name, file }));
  return bundle(files, list[0]?.webkitRelativePath.split("/")[0]);
}

/** Returns the recording of a drop of files and folders. Call it while the event is handled; it returns a promise. */
export function dropped({ items, files }) {
  const entries = [...items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return Promise.resolve(chosen(files));
  const folder = entries.length === 1 && entries[0].isDirectory ? entries[0].name : "";
  return Promise.all(entries.map((entry) => walk(entry))).then((found) => bundle(found.flat(), folder));
}

async function walk(entry, within = "") {
  const name = within ? `${within}/${entry.name}` : entry.name;
  if (hidden(name)) return [];
  if (entry.isFile) return [{ name, file: await new Promise((resolve, reject) => entry.file(resolve, reject)) }];
  const reader = entry.createReader();
  const found = [];
  for (;;) { // a reader returns about a hundred entries at a time
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return found.flat();
    for (const each of some) found.push(await walk(each, name));
  }
}

/** Returns whether these are the files of an interrupted upload, whose `parts` the server named. */
export const isSame = (files, parts) =>
  files.length === parts.length && files.every(({ name, file }, number) => parts[number].name === name && parts[number].size === file.size);
