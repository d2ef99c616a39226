// The first page: a file, an example, or a project of before.

import { get, post, put, remove } from "./api.js";
import { button, byId, el } from "./dom.js";
import { dropZone, send } from "./drop.js";
import { announce, attempt, fill, loading, message, note } from "./parts.js";
import { openProject } from "./state.js";

const EXAMPLES = [
  ["country", "A country's survey", "Malaria in the villages of a country that does not exist: positives out of examined, rasters of elevation and rain, people per pixel, districts."],
  ["image", "A satellite image with gaps", "A field seen through clouds, made on this machine. The gaps are filled, with their uncertainty."],
];

export async function showStart() {
  const root = byId("start-body"), line = el("p", { class: "note", role: "status" });
  const take = (files) => attempt(root, () => begin(files, line));
  fill(root,
    dropZone("drop", "Drop a file here: a table of places and measurements, or an image", "CSV, Excel, Parquet, GeoPackage, GeoJSON, GeoTIFF or NetCDF. It stays on this machine.", take),
    line,
    el("h2", {}, "Or try an example"),
    el("div", { class: "examples" }, EXAMPLES.map(([name, title, words]) => example(root, name, title, words, line))),
    el("h2", {}, "Projects of before"),
    el("div", { id: "projects" }, loading("Looking for projects …")));
  await listProjects();
}

function example(root, name, title, words, line) {
  return el("div", { class: "card example" }, el("h3", {}, title), el("p", {}, words),
    button("Open this example", { id: `example-${name}`, "aria-label": `Open the example: ${title}`, onclick: (event) => attempt(root, async () => {
      event.target.disabled = true;
      line.textContent = "Making the example's files, a few seconds …";
      announce(line.textContent);
      try {
        const made = await post("projects", { name: title, example: name });
        await openProject(idOf(made));
      } finally {
        event.target.disabled = false;
        line.textContent = "";
      }
    }) }));
}

async function begin(files, line) {
  const first = files[0], name = first.name.replace(/\.[^.]+$/, "");
  const project = idOf(await post("projects", { name }));
  const found = await send(project, files, line).catch(async (error) => {
    line.textContent = "";
    await remove(`projects/${encodeURIComponent(project)}`); // nothing could be read, so nothing is begun
    throw error;
  });
  line.textContent = "Looking at its columns …";
  const data = found.find((one) => one.kind !== "raster" && one.kind !== "other") ?? found[0];
  const refusal = await put(`projects/${encodeURIComponent(project)}/data`, { file: data.name }).then(() => null, (error) => error.message);
  line.textContent = "";
  await openProject(project);
  if (refusal) byId("data-body").prepend(message("error", refusal));
}

const idOf = (made) => made.id ?? made.project?.id ?? made.project;

async function listProjects() {
  const place = byId("projects");
  try {
    const { projects } = await get("projects");
    if (!projects.length) fill(place, note("None yet: the first file that you drop begins one."));
    else fill(place, el("ul", { class: "projects" }, projects.map(projectRow)));
  } catch (error) {
    fill(place, message("error", error.message));
  }
}

function projectRow(one) {
  const facts = [one.data || "no data yet", one.n_fits === 1 ? "1 fit" : `${one.n_fits ?? 0} fits`, one.running ? "a fit is running" : "", String(one.created ?? "").slice(0, 10)];
  return el("li", { class: "card" },
    button(one.name, { class: "link", "data-project": one.id, onclick: () => attempt(byId("start-body"), () => openProject(one.id)) }),
    el("span", { class: "note" }, facts.filter(Boolean).join(" · ")),
    button("Remove", { class: "small", "aria-label": `Remove the project ${one.name}`, "data-remove-project": one.id, onclick: () => attempt(byId("projects"), () => drop(one)) }));
}

async function drop(one) {
  if (!window.confirm(`Remove the project ${one.name} with its data, fits and everything else in ${one.folder}?`)) return;
  await remove(`projects/${encodeURIComponent(one.id)}`);
  announce(`The project ${one.name} was removed.`);
  await listProjects();
  byId("projects").querySelector("button")?.focus();
}
