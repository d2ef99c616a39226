// Two fits side by side: their scores, and where their maps differ.

import { get } from "./api.js";
import { colourBar, markScale, showScale } from "./colourbar.js";
import { byId, el } from "./dom.js";
import { SIGNED } from "./dotmap.js";
import { MapCanvas, mapFrame } from "./mapcanvas.js";
import { attempt, fill, loading, note, select, table } from "./parts.js";
import { unpack } from "./raster.js";
import { plainNumber, readable, Scale } from "./scale.js";
import { path, state } from "./state.js";
import { Surface } from "./surface.js";

const chosen = { a: null, b: null };
let map = null;

export function compareFits(done) {
  const options = done.map((fit) => [fit.id, fit.name || `Fit ${fit.id}`]), known = (id) => done.some((fit) => fit.id === id);
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
  return fit?.name || `Fit ${id}`;
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
  const rows = scores.map(([name, first, second]) => [name, readable(first), readable(second), readable(second - first)]);
  return [table(`Scores of ${nameOf(a)} and ${nameOf(b)}`, ["held-out score", nameOf(a), nameOf(b), "change"], rows, "numeric", "compare-scores"),
    note("Scores of rows that the models had not been given. Of errors and CRPS less is better; coverage is best near 95 %.")];
}

async function drawDifference(root, data, a, b) {
  const count = data.rows * data.columns;
  const [values, cover] = await Promise.all([unpack(data.values, count), data.cover && unpack(data.cover, count)]);
  const most = Math.max(Math.abs(data.low), Math.abs(data.high)) || 1, scale = new Scale(SIGNED, [-most, most]);
  const surface = new Surface(data.columns, data.rows, values, cover), image = surface.blank();
  surface.paint(image, surface.refine(values), -most, most, scale.table(1024));
  const frame = mapFrame("difference-", `Difference: ${nameOf(b)} less ${nameOf(a)}`), bar = colourBar("difference-");
  root.replaceChildren(frame, bar);
  const whole = { areas: [], geographic: false, lengthUnit: data.km ? "km" : "units", ...data };
  const at = (place) => {
    const i = map.view.pixelAt(...place);
    return i < 0 || Number.isNaN(values[i]) ? null : values[i];
  };
  map = new MapCanvas(frame, whole, {
    image: () => image,
    marks: () => {},
    lines: (place) => (at(place) === null ? [] : [`difference ${readable(at(place))}`]),
    pointed: (place) => markScale(bar, scale, place && at(place)),
  }, 420);
  showScale(bar, scale, `mean of ${nameOf(b)} less that of ${nameOf(a)}; on average they are ${readable(data.mean_absolute)} apart`, plainNumber);
}
