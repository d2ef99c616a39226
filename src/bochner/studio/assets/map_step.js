// Step 5, Map: the report's map, drawn for the fit that is chosen.

import { get, isOpen } from "./api.js";
import { showInTable } from "./areas.js";
import { button, byId, el } from "./dom.js";
import { lastJob, runJob, watchJob } from "./jobs.js";
import { lawOf, MapPanel } from "./panel.js";
import { announce, attempt, field, fill, note, select } from "./parts.js";
import { changed, chosenFit, files, fitPath, isDone, state } from "./state.js";

export let panel = null;

export async function showMap() {
  const root = byId("map-body"), fit = chosenFit();
  endPanel();
  if (!isDone(fit)) return fill(root, note("Once a fit is done, its map stands here."));
  fill(root, controls(root), el("div", { id: "map-job" }), el("div", { id: "map-holder" }));
  const running = lastJob("map");
  if (running && isOpen(running)) return attempt(root, async () => (await watchJob(byId("map-job"), running)) && load());
  if (lastJob("map", "done")) return attempt(root, load);
  const given = state.view.project.options?.threshold;
  return attempt(root, () => draw(given ?? null)); // the first map of a fit draws itself
}

function endPanel() {
  panel?.map.end();
  panel = null;
}

function controls(root) {
  const polygons = files("vector").map((one) => [one.name, one.name]);
  const rasters = files("raster").map((one) => [one.name, one.name]);
  const held = chosenFit().spec?.covariates ?? [], image = state.view.data?.kind !== "table";
  return el("div", { class: "questions" },
    !image && field("resolution", "Side of a pixel", el("input", { id: "resolution", type: "text", value: state.map.resolution, placeholder: "automatic", autocomplete: "off", oninput: (event) => { state.map.resolution = event.target.value.trim(); changed("options"); } }), "E.g. 5km or 0.05deg; empty: as fine as is quick."),
    !image && polygons.length > 0 && field("map-areas", "Outlines and cut", select("map-areas", [["", "none"], ...polygons], state.map.areas || state.decide.areas, (value) => { state.map.areas = value; state.map.cut = true; changed("options"); }), "The map is cut to these polygons."),
    !image && held.map((name, k) => field(`held-${k}`, `Where ${name} comes from`, select(`held-${k}`, [["", "its mean everywhere"], ...rasters], state.map.covariate[name] ?? "", (value) => { state.map.covariate[name] = value; changed("options"); }))),
    button("Draw the map again", { id: "draw-map", onclick: () => attempt(root, () => draw()) }));
}

// Options of the map on the screen, as jobs take them.
export function mapOptions() {
  const covariate = Object.fromEntries(Object.entries(state.map.covariate).filter(([, file]) => file));
  const areas = state.map.areas || (state.map.cut ? "" : state.decide.areas);
  return { resolution: state.map.resolution || null, within: areas || null, covariate };
}

async function draw(threshold = state.threshold) {
  const fit = state.fit, options = mapOptions();
  announce("The map is being drawn.");
  const job = await runJob(byId("map-job"), "map", { ...options, areas: options.within, threshold });
  if (job && fit === state.fit) await load();
}

async function load() {
  const fit = state.fit, holder = byId("map-holder"), data = await get(fitPath("map"));
  const law = await lawOf(data);
  if (fit !== state.fit) return;
  endPanel();
  const card = el("div", { class: "map-card", id: "map-card" });
  data.areas ??= [];
  holder.replaceChildren(card, ...(data.note ? [note(data.note)] : []));
  if (state.threshold !== null) data.threshold = around(state.threshold, data.threshold);
  panel = new MapPanel(card, data, law, {
    title: `${state.view.project.name}: ${data.response}`,
    dots: state.view.data?.kind === "table", // pixels lie so densely that they would hide the map
    hooks: { onThreshold: (value) => { state.threshold = value; changed("threshold"); }, onArea: (i) => showInTable(byId("areas-table"), i) },
  });
  state.threshold = data.threshold.value;
  announce("The map is drawn.");
  window.studio = { panel };
  changed("map");
}

// A threshold that the reader had before, within reach of the slider.
const around = (value, { low, high, step }) => ({ value, low: Math.min(low, value), high: Math.max(high, value), step });

// An area of the table, in sight on the map.
export function showArea(i) {
  if (!panel || !panel.data.areas[i]) return;
  panel.chooseArea(i, true);
  if (panel.chosen !== null) byId("map-step").scrollIntoView({ block: "start" });
}

// Outlines of districts, once they are known.
export function showOutlines(outlines) {
  if (!panel || !outlines) return;
  panel.data.areas = outlines;
  panel.chosen = null;
  panel.map.draw();
}
