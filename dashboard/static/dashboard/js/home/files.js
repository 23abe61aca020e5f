// What a person chose or dropped, as one recording: its name and its files with their paths.

const hidden = (path) => path.split("/").some((part) => part.startsWith(".") || part === "__MACOSX");

function bundle(files, folder = "") {
  const shown = files.filter(({ name }) => !hidden(name)).sort((a, b) => (a.name < b.name ? -1 : 1));
  const rest = shown.length - 1;
  const name = folder || (rest > 0 ? `${shown[0].name} and ${rest} more` : (shown[0]?.name ?? files[0]?.name ?? "recording"));
  return { name, files: shown, left: files.length - shown.length };
}

/** Of an input: several files are one recording; those of a folder carry its name. */
export function chosen(list) {
  const files = [...list].map((file) => ({ name: file.webkitRelativePath || file.name, file }));
  return bundle(files, list[0]?.webkitRelativePath.split("/")[0]);
}

/** Of a drop: files and folders together. It has to be called while the event is handled; the answer comes later. */
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
  for (;;) { // a reader gives some hundred at a time
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return found.flat();
    for (const each of some) found.push(await walk(each, name));
  }
}

/** Whether these are the files of which a part has arrived. */
export const isSame = (files, parts) =>
  files.length === parts.length && files.every(({ name, file }, number) => parts[number].name === name && parts[number].size === file.size);
