// Step 2, Model: what is measured, what explains it, and, behind "more", kernel and engine.

import { byId, el } from "./dom.js";
import { attempt, field, fill, message, note, select } from "./parts.js";
import { columnWith, files, setRole, setSpec, state } from "./state.js";

const MEASURES = [
  ["number", "A number", "temperature, a concentration, an index"],
  ["positives", "Positives out of examined", "infected of tested: mapped as prevalence"],
  ["cases", "Cases by population", "counts among people or over time: mapped as a rate"],
  ["presence", "Present or absent", "0 or 1 at every place: mapped as a probability"],
];
const FAMILIES = {
  number: [["", "Gaussian (usual)"], ["student", "Student t: a few values far off"], ["gamma", "Gamma: positive and skewed"]],
  cases: [["", "Poisson (usual)"], ["negative-binomial", "Negative binomial: more scatter than chance"]],
};
const KERNELS = [["", "chosen by the library"], ["matern12", "Matern 1/2, rough"], ["matern32", "Matern 3/2"], ["matern52", "Matern 5/2, smooth"], ["rbf", "Gaussian, very smooth"], ["matern12+matern32", "Matern 1/2 + 3/2, two scales"]];
const FEATURES = [["", "chosen by the library"], ["exact", "exact kernel"], ["lattice", "lattice of waves"], ["quasi", "quasi random waves"], ["orthogonal", "orthogonal waves"], ["nystroem", "Nystroem landmarks"]];
const TUNE = [["", "marginal likelihood (usual)"], ["likelihood", "likelihood"], ["spatial-cv", "spatial cross-validation"], ["none", "learn nothing"]];

export function showModel() {
  const root = byId("model-body"), data = state.view.data, typed = byId("crs");
  if (!data) return fill(root, note("First choose data, above."));
  // a text that is being typed is not replaced; what is new beside it is shown once it is left
  if (typed?.matches(":focus") && typed.value.trim() !== (state.spec.crs ?? "")) return typed.addEventListener("blur", () => put({}), { once: true });
  const image = data.kind !== "table";
  return fill(root, image ? target(data, "What is mapped") : [measures(), el("div", { class: "questions" }, target(data), size(data))], covariates(data, image), more(data, image), problems(), state.cautions.map((text) => message("plain caution", text)));
}

const put = (patch) => attempt(byId("model-body"), () => setSpec(patch));
const give = (role) => (name) => attempt(byId("model-body"), () => setRole(name, role));

function measures() {
  return el("fieldset", { class: "measures" }, el("legend", {}, "What was measured at every place?"),
    MEASURES.map(([value, title, hint]) => el("label", { class: "choice" },
      el("input", { type: "radio", name: "measures", id: `measures-${value}`, value, checked: state.spec.measures === value, onchange: () => put({ measures: value, family: null }) }),
      el("span", {}, el("strong", {}, title), el("span", { class: "note" }, hint)))));
}

const numbers = (data) => data.columns.filter((one) => one.kind === "number").map((one) => [one.name, one.name]);

function target(data, label = { positives: "How many were positive", cases: "How many cases", presence: "Present (1) or absent (0)" }[state.spec.measures] ?? "Column of the number") {
  return field("target", label, select("target", [["", "choose a column"], ...numbers(data)], columnWith("target") ?? "", give("target")));
}

function size(data) {
  const role = { positives: "trials", cases: "exposure" }[state.spec.measures];
  if (!role) return null;
  return field(role, role === "trials" ? "How many were examined" : "Population, or time observed",
    select(role, [["", role === "trials" ? "choose a column" : "the same everywhere"], ...numbers(data)], columnWith(role) ?? "", give(role)));
}

function covariates(data, image) {
  const taken = new Set(["x", "y", "t", "target", "trials", "exposure", "groups", "error_sd"]);
  const usable = (one) => state.roles[one.name] === "covariate" || one.kind === "number" || (one.kind === "text" && one.levels < 20);
  const columns = data.columns.filter((one) => !taken.has(state.roles[one.name]) && usable(one));
  const rasters = files("raster").filter((one) => one.name !== data.file);
  if (!columns.length && !rasters.length) return note("Covariates: drop rasters (elevation, rain) at the data, and they can be chosen here.");
  const box = (id, checked, words, change) => el("label", { class: "check", for: id }, el("input", { type: "checkbox", id, checked, onchange: (event) => change(event.target.checked) }), ` ${words}`);
  return el("fieldset", { class: "covariates" }, el("legend", {}, "What may explain it? (covariates)"),
    columns.map((one, k) => box(`covariate-${k}`, state.roles[one.name] === "covariate", image ? `${one.name}, a band` : `${one.name}, a column`,
      (on) => attempt(byId("model-body"), () => setRole(one.name, on ? "covariate" : "")))),
    rasters.map((one, k) => {
      const known = Object.entries(state.spec.covariate ?? {}).find(([, file]) => file === one.name)?.[0], name = known ?? one.name.replace(/\.[^.]+$/, "");
      return box(`raster-${k}`, known !== undefined, `${name}, from ${one.name} at every place`, (on) => {
        const covariate = { ...state.spec.covariate };
        if (on) covariate[name] = one.name;
        else delete covariate[name];
        put({ covariate });
      });
    }),
    note("A column is known at the data alone: on the map it is held at its mean. A raster is known everywhere."));
}

function more(data, image) {
  const texts = [["", "none"], ...data.columns.map((one) => [one.name, one.name])], { spec } = state;
  const families = FAMILIES[spec.measures];
  const one = (name, label, options, hint) => field(name, label, select(name, options, spec[name] ?? "", (value) => put({ [name]: value || null })), hint);
  const typed = (name, label, hint) => field(name, label, el("input", { id: name, type: "text", value: spec[name] ?? "", autocomplete: "off", onchange: (event) => put({ [name]: event.target.value.trim() || null }) }), hint);
  return el("details", { id: "more" }, el("summary", {}, "More: kernel, engine, groups, coordinates"),
    el("div", { class: "questions" },
      families && one("family", "Law of the observations", families),
      one("kernel", "Kernel", KERNELS, "How alike near places are. Its values are always learned."),
      one("features", "Engine", FEATURES, "How the kernel is computed."),
      one("tune", "Learning", TUNE),
      !image && field("groups", "Groups", select("groups", texts, columnWith("groups") ?? "", give("groups")), "Rows of one station or household are held out together."),
      !image && field("error_sd", "Known standard errors", select("error_sd", [["", "none"], ...numbers(data)], columnWith("error_sd") ?? "", give("error_sd"))),
      typed("crs", "Coordinate reference system", `E.g. EPSG:32632; empty: ${data.crs || "as the file says"}.`)));
}

function problems() {
  if (!state.problems.length) return el("p", { class: "ready", id: "model-ready" }, "✓ Ready to be fitted.");
  return message("warn", "Before it can be fitted:", el("ul", { id: "model-problems" }, state.problems.map((text) => el("li", {}, text))));
}
