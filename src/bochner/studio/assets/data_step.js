// Step 1, Data: what the file holds, which part every column plays, and what is wrong in it.

import { post, put } from "./api.js";
import { button, byId, el } from "./dom.js";
import { dotMap, frameOf, mapHolder, rasterMap, told } from "./smallmap.js";
import { dropZone, send } from "./drop.js";
import { announce, attempt, fill, message, note, select, table } from "./parts.js";
import { unpack } from "./raster.js";
import { changed, openProject, path, files, refreshView, ROLES, saved, setRole, setSpec, state } from "./state.js";

let map = null;

export function showData() {
  const root = byId("data-body"), data = state.view.data;
  map?.end();
  map = null;
  if (!data) {
    fill(root, message(state.view.error ? "error" : "plain", state.view.error ?? "This project has no data yet. Drop a file, or choose one below."), fileList(root));
    return;
  }
  const plain = data.kind !== "table" && data.columns.length === 1; // one band has one part to play
  fill(root, story(data), plain ? null : preview(data),
    el("div", { class: "data-columns" }, data.points ? mapHolder("places") : null, el("div", {}, wrongRows(data), flags(data), notes(data))), fileList(root));
  if (data.image) drawImage(data);
  else if (data.points) drawPlaces(data);
}

export function showRoles() {
  for (const one of document.querySelectorAll("[data-role-of]")) one.value = state.roles[one.dataset.roleOf] ?? "";
  const drop = byId("drop-bad");
  if (drop) drop.checked = Boolean(state.spec.drop_bad);
}

function story(data) {
  const what = { image: "an image", stack: "a stack of images" }[data.kind] ?? "a table";
  const units = data.kind === "table" ? "rows" : "pixels with a value";
  const amiss = data.problems?.length ? `, ${data.problems.length.toLocaleString("en")} of them amiss` : "";
  const crs = data.crs ? ` Coordinates: ${data.crs}.` : "";
  return el("p", { id: "data-story" }, el("strong", {}, data.file), ` is ${what} with ${data.n_rows.toLocaleString("en")} ${units}${amiss} and ${data.columns.length} ${data.kind === "table" ? "column" : "band"}${data.columns.length === 1 ? "" : "s"}.${crs}`);
}

// The first rows; a select in every heading says which part the column plays.
function preview(data) {
  const { header, rows } = data.preview, byName = new Map(data.columns.map((one) => [one.name, one]));
  const options = data.kind === "table" ? ROLES : ROLES.filter(([role]) => ["", "target", "covariate"].includes(role));
  const heading = (name, k) => el("th", { scope: "col" }, el("span", { class: "column-name" }, name), el("span", { class: "column-facts" }, facts(byName.get(name))),
    select(`role-${k}`, options, state.roles[name] ?? "", (role) => attempt(byId("data-body"), () => setRole(name, role)),
      { "aria-label": `Part of the column ${name}`, "data-role-of": name, title: byName.get(name)?.why ?? "" }),
    el("span", { class: "why" }, byName.get(name)?.why ?? ""));
  return el("div", { class: "scroll preview", tabindex: 0, role: "region", "aria-label": "First rows", id: "preview" },
    el("table", {}, el("caption", {}, `The first ${rows.length} rows, and which part each column plays. Change it in the heading.`),
      el("thead", {}, el("tr", {}, header.map(heading))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell) => el("td", { class: cell === "" ? "missing" : "" }, cell === "" ? "missing" : cell)))))));
}

function facts(column) {
  if (!column) return "";
  const range = column.kind === "number" ? `${brief(column.low)} to ${brief(column.high)}` : column.kind === "text" ? `${column.levels} texts` : column.kind;
  return column.missing ? `${range}, ${column.missing} missing` : range;
}

const brief = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 }).replace("-", "−");

function wrongRows({ problems = [] }) {
  if (!problems.length) return null;
  return el("section", { class: "message warn", "aria-labelledby": "wrong-title", id: "wrong-rows" },
    el("h3", { id: "wrong-title" }, problems.length === 1 ? "One row is amiss" : `${problems.length.toLocaleString("en")} rows are amiss`),
    el("div", { class: "tall" }, table("Rows that are amiss", ["where", "what is wrong"], problems.map((one) => [String(one.line ?? ""), one.text]))),
    el("label", { class: "check" }, el("input", { type: "checkbox", id: "drop-bad", checked: Boolean(state.spec.drop_bad),
      onchange: (event) => attempt(byId("data-body"), () => setSpec({ drop_bad: event.target.checked })) }),
    " Leave these rows out. They are named in the report."));
}

function flags({ flags: found = [], file }) {
  if (!found.length) return null;
  const swapped = found.filter((one) => /swapped/.test(one.text)).map((one) => one.row), all = found.map((one) => one.row);
  const mend = (change) => attempt(byId("data-body"), async () => {
    await saved();
    await post(path("mend"), { swap: [], drop: [], ...change });
    await openProject(state.project, state.fit);
    announce(`A mended copy of ${file} holds the data now.`);
  });
  const canMend = state.view.data.kind === "table" && /\.(csv|tsv|txt|xlsx|parquet)$/i.test(file);
  return el("section", { class: "message warn", "aria-labelledby": "flags-title", id: "flags" },
    el("h3", { id: "flags-title" }, found.length === 1 ? "One place looks odd" : `${found.length} places look odd`),
    el("ul", {}, found.map((one) => el("li", {}, one.text))),
    canMend && el("div", { class: "mend" },
      swapped.length > 0 && button(swapped.length === 1 ? "Exchange its coordinates" : `Exchange the coordinates of ${swapped.length}`, { id: "mend-swap", class: "small", onclick: () => mend({ swap: swapped }) }),
      button(found.length === 1 ? "Leave it out" : "Leave them out", { id: "mend-drop", class: "small", onclick: () => mend({ drop: all }) })),
    note(`A red ring marks such places on the map. ${canMend ? "What you choose is written into a copy of the file; the dropped one stays as it is. " : ""}Otherwise they are used as they are.`));
}

function notes({ notes: found = [] }) {
  return found.length > 0 && el("ul", { class: "notes" }, found.map((text) => el("li", {}, text)));
}

function drawPlaces(data) {
  const { points } = data, odd = new Set((data.flags ?? []).map((one) => one.row));
  const marked = points.x.map((_, i) => i).filter((i) => odd.has(points.row?.[i]));
  const shown = points.shown < points.n ? `, ${points.shown.toLocaleString("en")} of ${points.n.toLocaleString("en")} shown` : "";
  const name = state.spec.target ?? "value", size = columnBehind();
  map = dotMap(byId("places"), "places-", `Places of ${data.file}${shown}`, frameOf(points, data.background), points, {
    title: points.value ? `${name}${size ? ` / ${size}` : ""} at the places of the data${shown}` : "", marked,
    words: (i) => [points.value ? `${name}: ${told(points.value[i])}` : "", `${points.names[0]} ${points.x[i]}, ${points.names[1]} ${points.y[i]}`].filter(Boolean),
  });
}

// An image as it is, gaps and all.
async function drawImage(data) {
  const { image, points } = data, place = byId("places");
  const values = await unpack(image.values, image.rows * image.columns);
  if (!place.isConnected) return;
  const whole = { ...frameOf(points, data.background), ...image };
  map = rasterMap(place, "places-", `Image of ${data.file}`, whole, values, null, { title: `${state.spec.target ?? "value"} as it was seen; gaps are blank` });
}

const columnBehind = () => ({ positives: state.spec.trials, cases: state.spec.exposure })[state.spec.measures] ?? "";

// Files of the project: which one holds the data, and a zone for more.
function fileList(root) {
  const known = files(), line = el("p", { class: "note", role: "status" });
  const options = [["", "choose a file"], ...known.filter((one) => one.kind !== "other").map((one) => [one.name, one.name])];
  return el("details", { id: "data-files", open: !state.view.data },
    el("summary", {}, `Files of this project (${known.length})`),
    known.length > 0 && el("div", { class: "question" }, el("label", { for: "data-file" }, "The data are in"),
      select("data-file", options, state.view.data?.file ?? "", (file) => file && attempt(root, () => useData(file)))),
    dropZone("more-files", "Drop more files: rasters of covariates, people per pixel, districts as polygons", "They are listed where they can be used. A new table can take the place of the data above.",
      (chosen) => attempt(root, async () => {
        const found = await send(state.project, chosen, line);
        const table = found.find((one) => one.kind === "table");
        if (table && !state.view.data) return useData(table.name);
        await refreshView();
        return changed("files");
      })), line);
}

export async function useData(file) {
  await saved().catch(() => {}); // the new file has a spec of its own
  await put(path("data"), { file });
  await openProject(state.project, state.fit);
}
