// Files that are dropped or chosen, on their way to the server.

import { upload } from "./api.js";
import { button, el } from "./dom.js";
import { announce, bytes } from "./parts.js";

export const ENDINGS = ".csv,.xlsx,.parquet,.gpkg,.geojson,.json,.geoparquet,.shp,.shx,.dbf,.prj,.cpg,.tif,.tiff,.nc,.nc4";

// A place for files; `taken(files)` gets them.
export function dropZone(id, words, hint, taken) {
  const input = el("input", { type: "file", id: `${id}-file`, class: "hide", multiple: true, accept: ENDINGS, tabindex: -1, "aria-label": words,
    onchange: () => {
      if (input.files.length) taken([...input.files]);
    } });
  const zone = el("div", { id, class: "drop" },
    el("p", { class: "drop-words" }, words),
    button("Choose a file", { class: "main", id: `${id}-choose`, onclick: () => { input.value = ""; input.click(); } }), input,
    el("p", { class: "note" }, hint));
  let depth = 0;
  const over = (on) => zone.classList.toggle("over", on);
  zone.addEventListener("dragenter", (event) => { event.preventDefault(); depth += 1; over(true); });
  zone.addEventListener("dragleave", () => { depth -= 1; over(depth > 0); });
  zone.addEventListener("dragover", (event) => event.preventDefault());
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    depth = 0;
    over(false);
    if (event.dataTransfer.files.length) taken([...event.dataTransfer.files]);
  });
  return zone;
}

// One after the other; returns what the server made of them.
export async function send(project, files, line) {
  const found = [];
  for (const file of files) {
    const say = (text) => { line.textContent = text; };
    say(`Reading ${file.name} (${bytes(file.size)}) …`);
    found.push(await upload(project, file, (share) => say(`Reading ${file.name} (${bytes(file.size)}), ${Math.round(100 * share)} % …`)));
    announce(`${file.name} was read.`);
  }
  line.textContent = "";
  return found;
}

// A file that misses its zone must not replace the page.
export function guardDrops() {
  for (const name of ["dragover", "drop"]) window.addEventListener(name, (event) => event.preventDefault());
}
