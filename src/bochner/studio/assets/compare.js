// Two fits side by side: their scores, and where their maps differ.

import { get } from "./api.js";
import { byId, el } from "./dom.js";
import { rasterMap } from "./smallmap.js";
import { attempt, fill, loading, note, select, table } from "./parts.js";
import { unpack } from "./raster.js";
import { readable } from "./scale.js";
import { path, state } from "./state.js";

const chosen = { a: null, b: null };
let map = null;

export function compareFits(done) {
  const options = done.map((fit) => [fit.id, fit.name || `fit ${fit.id}`]), known = (id) => done.some((fit) => fit.id === id);
  if (!known(chosen.a)) chosen.a = done.at(-2).id;
  if (!known(chosen.b) || chosen.a === chosen.b) chosen.b = done.at(-1).id === chosen.a ? done.at(-2).id : done.at(-1).id;
  const pick = (side) => (id) => { chosen[side] = id; };
  return el("details", { id: "compare" }, el("summary", {}, "Compare two fits"),
    el("div", { class: "questions" },
      el("div", { class: "question" }, el("label", { for: "compare-a" }, "First"), select("compare-a", options, chosen.a, pick("a"))),
      el("div", { class: "question" }, el("label", { for: "compare-b" }, "Second"), select("compare-b", options, chosen.b, pick("b"))),
      el("button", { type: "button", id: "compare-go", onclick: () => attempt(byId("compared"), show) }, "Compare")),
    el("div", { id: "compared" }));
}

const nameOf = (id) => {
  const fit = state.view.fits.find((one) => one.id === id);
  return fit?.name || `fit ${id}`;
};

async function show() {
  const place = byId("compared"), { a, b } = chosen;
  map?.end();
  map = null;
  if (a === b) return fill(place, note("These are one and the same fit; choose two."));
  fill(place, loading("Comparing: two maps are drawn, a few seconds …"));
  try {
    const found = await get(`${path("compare")}?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`);
    fill(place, scoreTable(found.scores, a, b), el("div", { id: "difference", class: "small-map" }));
    if (found.map) await drawDifference(byId("difference"), found.map, a, b);
  } catch (error) {
    fill(place);
    throw error;
  }
  return null;
}

function scoreTable(scores, a, b) {
  const rows = scores.map(([name, first, second]) => [name.replaceAll("_", " "), readable(first), readable(second), readable(second - first)]);
  return [table(`Scores of ${nameOf(a)} and ${nameOf(b)}`, ["held-out score", nameOf(a), nameOf(b), "change"], rows, "numeric", "compare-scores"),
    note("Scores of rows that the models had not been given. Of errors, CRPS and the interval score less is better, of the log score more; coverage is best near 95 %, bias near 0.")];
}

async function drawDifference(root, data, a, b) {
  const count = data.rows * data.columns;
  const [values, cover] = await Promise.all([unpack(data.values, count), data.cover && unpack(data.cover, count)]);
  const whole = { areas: [], geographic: false, lengthUnit: data.km ? "km" : "units", ...data };
  map = rasterMap(root, "difference-", `Difference: ${nameOf(b)} less ${nameOf(a)}`, whole, values, cover, {
    signed: true, title: `mean of ${nameOf(b)} less that of ${nameOf(a)}; on average they are ${readable(data.mean_absolute)} apart`,
  });
}
