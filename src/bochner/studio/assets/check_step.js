// Step 4, Check: whether the fit may be believed, in the words and charts of the report.

import { get } from "./api.js";
import { byId, el } from "./dom.js";
import { dotMap, frameOf, mapHolder, SIGNED, told } from "./smallmap.js";
import { figure, fill, loading, message, note, table } from "./parts.js";
import { chosenFit, fitPath, isDone, state } from "./state.js";

let map = null;

export async function showCheck() {
  const root = byId("check-body"), fit = chosenFit();
  map?.end();
  map = null;
  if (!isDone(fit)) return fill(root, note("Once a fit is done, its checks stand here."));
  fill(root, loading("Checking the fit …"));
  try {
    const found = await get(fitPath("check"));
    if (fit.id !== state.fit) return null;
    fill(root, verdict(found), numbers(found), sentences(found), residuals(found), charts(found), tables(found));
    if (found.residuals) drawResiduals(found.residuals);
  } catch (error) {
    fill(root, message("error", error.message));
  }
  return null;
}

function verdict({ findings = [], all_clear: clear, all_made: all }) {
  if (!findings.length) return all ? message("good", `✓ ${clear}`) : message("warn", clear);
  return message("warn", "Check these first:", el("ul", { id: "findings" }, findings.map((text) => el("li", {}, text))));
}

function numbers({ numbers: found = [] }) {
  return el("dl", { class: "tiles" }, found.map(([value, label]) => el("div", {}, el("dt", {}, label), el("dd", {}, value))));
}

function sentences({ sentences: found = [] }) {
  return found.length > 0 && el("ul", { class: "short" }, found.map((text) => el("li", {}, text)));
}

function residuals({ residuals: found }) {
  return found && el("section", { "aria-labelledby": "residuals-title" }, el("h3", { id: "residuals-title" }, "Residuals on the map"), mapHolder("residuals"),
    note("Observed less predicted, in standard deviations of a new observation. Patches of one colour would be a pattern that the model has missed."));
}

function drawResiduals(found) {
  const { points, background } = state.view.data, names = found.names ?? points?.names ?? ["x", "y"];
  const dots = { ...found, names, geographic: points?.geographic ?? false, km: points?.km };
  map = dotMap(byId("residuals"), "residuals-", "Residuals at the places of the data", frameOf(dots, background), dots, {
    ramp: SIGNED, domain: [-3, 3], title: "residual, in standard deviations", words: (i) => [`residual ${told(dots.value[i])} sd`],
  });
}

function charts({ figures = [], space = [], ranges, effects }) {
  const all = [ranges, effects, ...figures, ...space].filter(Boolean);
  return all.length > 0 && el("section", { "aria-labelledby": "charts-title" }, el("h3", { id: "charts-title" }, "Calibration, range and space"), el("div", { class: "columns" }, all.map(figure)));
}

function tables({ scores, coefficients, parameters, choices = [], summary }) {
  return el("details", { id: "check-tables" }, el("summary", {}, "Scores, effects, and what was chosen"),
    scores && [el("h3", {}, "Scores of held-out rows"), table("Scores of held-out rows", scores.header, scores.rows, "numeric scores")],
    coefficients && [el("h3", {}, "Fixed effects"), table("Fixed effects", coefficients.header, coefficients.rows, "numeric")],
    parameters && [el("h3", {}, "Field and noise"), table("Field and noise", parameters.header, parameters.rows, "pairs")],
    el("h3", {}, "What was chosen, and why"),
    el("dl", { class: "choices" }, choices.map(([name, why]) => el("div", {}, el("dt", {}, name), el("dd", {}, why)))),
    summary && el("details", {}, el("summary", {}, "Summary as text"), el("pre", { tabindex: 0 }, summary)));
}
