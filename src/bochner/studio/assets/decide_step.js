// Step 6, Decide: districts, people, hotspots, and everything as files.

import { get } from "./api.js";
import { listenToTable } from "./areas.js";
import { button, byId, el } from "./dom.js";
import { downloadLink, fileAddress, lastJob, runJob } from "./jobs.js";
import { mapOptions, panel, showArea, showOutlines } from "./map_step.js";
import { announce, attempt, field, fill, loading, note, select, table } from "./parts.js";
import { limitText } from "./scale.js";
import { changed, chosenFit, files, fitPath, isDone, state } from "./state.js";

export async function showDecide() {
  const root = byId("decide-body");
  if (!isDone(chosenFit())) return fill(root, note("Once a fit is done, districts, hotspots and downloads stand here."));
  const image = state.view.data?.kind !== "table";
  fill(root, !image && questions(root), el("div", { id: "decide-job" }), el("div", { id: "answer" }), downloads(image));
  if (lastJob("areas", "done")) await attempt(root, showAnswer);
  return null;
}

export function showLimit() {
  const place = byId("decide-limit");
  if (place && panel) place.textContent = limitText(state.threshold, panel.data);
}

function questions(root) {
  const of = (kind) => files(kind).map((one) => [one.name, one.name]);
  const keep = (name) => (value) => { state.decide[name] = value; changed("options"); };
  return el("div", { class: "questions" },
    el("p", { class: "limit" }, "Threshold: ", el("strong", { id: "decide-limit" }, panel ? limitText(state.threshold, panel.data) : "that of the map"), ", moved on the map above."),
    field("areas", "Districts (polygons)", select("areas", [["", "none"], ...of("vector")], state.decide.areas, keep("areas")), of("vector").length ? "" : "Drop a GeoPackage or GeoJSON at the data to have them."),
    field("weights", "People per pixel (raster)", select("weights", [["", "every km² counts the same"], ...of("raster")], state.decide.weights, keep("weights"))),
    button("Which are above?", { id: "decide", class: "main", onclick: () => attempt(root, decide) }));
}

// Options of the answer on the screen, as jobs take them.
function options() {
  const { areas, weights } = state.decide;
  return { ...mapOptions(), threshold: state.threshold, areas: areas || null, weights: weights || null };
}

// A job with the options on the screen: the last one, if it was asked for in the same way, or a new one.
async function done(place, what) {
  const last = lastJob(what), asked = (given) => JSON.stringify(Object.entries(given ?? {}).sort());
  if (last?.status === "done" && asked(last.options) === asked(options())) return last;
  return runJob(place, what, options());
}

async function decide() {
  const place = byId("decide-job");
  if (!state.decide.areas) throw new Error("No districts were chosen: choose a file of polygons, or use hotspots below, which need none.");
  announce("Means over districts are being drawn.");
  if (!(await done(place, "areas"))) return;
  if (!(await done(place, "hotspots"))) return;
  await showAnswer();
}

async function showAnswer() {
  if (!byId("answer").children.length) fill(byId("answer"), loading("Writing the answer: people of all districts together …"));
  const found = await get(fitPath("areas")).catch((error) => {
    fill(byId("answer"));
    throw error;
  });
  fill(byId("answer"), sentences(found), areaTable(found), hotspots(found));
  showOutlines(found.outlines);
  const own = byId("areas-table");
  if (own) listenToTable(own, showArea);
  announce(found.sentences?.[0] ?? "The answer is there.");
  changed("answer");
}

function sentences({ sentences: found = [] }) {
  return found.length > 0 && el("div", { class: "card answer" }, found.map((text) => el("p", {}, text)));
}

function areaTable({ header, cells: rows = [], rows: areas = [], noun = "districts" }) {
  if (!header || !rows.length) return null;
  return el("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": `Table of ${noun}` },
    el("table", { id: "areas-table", class: "numeric areas" }, el("caption", { class: "hide" }, `Means of ${noun}; a click on a heading sorts, one on a name shows it on the map`),
      el("thead", {}, el("tr", {}, header.map((text, k) => el("th", { scope: "col", "aria-sort": k === 1 ? "descending" : null }, button(text))))),
      el("tbody", {}, rows.map((row) => el("tr", { "data-area": Math.round(row[0][1]), class: areas[Math.round(row[0][1])]?.no_data ? "no-data" : null },
        row.map(([text, value], k) => (k ? el("td", { "data-value": value }, text) : el("th", { scope: "row" }, button(text, { "aria-label": `Show ${text} on the map` })))))))));
}

function hotspots({ hotspots: found }) {
  if (!found) return null;
  const { header = [], rows = [] } = found;
  return el("section", { "aria-labelledby": "hotspots-title" }, el("h3", { id: "hotspots-title" }, "Hotspots"),
    rows.length ? table("Hotspots: connected places above the threshold with 90 % certainty", header, rows, "numeric near", "hotspots-table") : note("There are none: no place is above the threshold with 90 % certainty."));
}

// ---------------------------------------------------------------------------- downloads

function downloads(image) {
  const ending = /\.nc4?$/i.test(state.view.data?.file ?? "") ? "NetCDF" : "GeoTIFF";
  const made = [
    ["geotiff", image ? `Filled image, ${ending}` : "Map, GeoTIFF", image ? "What was seen is kept; gaps are filled, with their sd." : "Mean, sd, probability above the threshold and 95 % interval, as bands."],
    !image && ["areas", "Districts, CSV", "Mean, interval, probability and people of every district."],
    !image && ["hotspots", "Hotspots, GeoJSON", "Outlines of connected places above the threshold."],
    ["report", "Report, HTML", "One page that opens offline, to be passed on. It shows the observations."],
  ].filter(Boolean);
  return el("section", { "aria-labelledby": "downloads-title" }, el("h3", { id: "downloads-title" }, "Downloads"),
    el("ul", { class: "files" }, made.map(([what, title, words]) => fileRow(what, title, words)),
      el("li", {}, el("div", {}, el("strong", {}, "Model file"), el("span", { class: "note" }, "For bochner predict, map and report, here or elsewhere.")), downloadLink("model.bochner", "Download model.bochner")),
      el("li", {}, el("div", {}, el("strong", {}, "model.toml"), el("span", { class: "note" }, "What was asked; bochner fit --config runs it again.")), downloadLink("model.toml", "Download model.toml"))));
}

function fileRow(what, title, words) {
  const place = el("div", { class: "file-job" }), last = lastJob(what, "done");
  const go = button("Make and download", { id: `make-${what}`, "aria-label": `Make and download: ${title}`, onclick: () => attempt(row, () => make(what, place, go)) });
  const row = el("li", {}, el("div", {}, el("strong", {}, title), el("span", { class: "note" }, words), place), go);
  if (last) place.replaceChildren(...links(last));
  return row;
}

const links = (job) => (job.files ?? []).map((name) => downloadLink(name, `${name}, as last made`));

async function make(what, place, go) {
  if (what === "areas" && !state.decide.areas) throw new Error("Choose districts first: a file of polygons, above.");
  go.disabled = true;
  try {
    const job = await done(place, what);
    if (!job) return;
    place.replaceChildren(...links(job));
    announce(`${job.files.join(", ")} is made.`);
    changed("answer");
    for (const name of job.files) el("a", { href: fileAddress(name), download: name }).click();
  } finally {
    go.disabled = false;
  }
}

