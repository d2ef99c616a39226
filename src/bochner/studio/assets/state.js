// What is on the screen: one project, its model, one of its fits; steps are told when it changes.

import { get, put } from "./api.js";

export const state = {
  project: null, // id
  view: null, // what GET /api/projects/{p} tells
  spec: null,
  roles: {}, // column -> part that it plays
  problems: [],
  cautions: [],
  fit: null, // id
  threshold: null,
  map: { resolution: "", areas: "", covariate: {} },
  decide: { areas: "", weights: "" },
};

const listeners = [];

export function listen(listener) {
  listeners.push(listener);
}

// `what`: "project", "files", "data", "spec", "fit", "map", "threshold", "options" or "answer".
export function changed(what) {
  for (const listener of listeners) listener(what);
}

export const path = (...parts) => ["projects", state.project, ...parts].map((part) => encodeURIComponent(part)).join("/");
export const fitPath = (...parts) => path("fits", state.fit, ...parts);
export const chosenFit = () => state.view?.fits.find((one) => one.id === state.fit) ?? null;
export const isDone = (fit) => fit?.status === "done";

export async function openProject(id, fit = null) {
  await saving.catch(() => {}); // an edit of the project that is open now
  const view = await get(`projects/${encodeURIComponent(id)}`);
  const { areas = "", weights = "" } = view.project.options ?? {};
  Object.assign(state, { project: id, view, threshold: null, map: { resolution: "", areas: "", covariate: {} }, decide: { areas, weights } });
  const last = [...view.fits].reverse();
  state.fit = (view.fits.find((one) => one.id === fit) ?? last.find(isDone) ?? last[0])?.id ?? null;
  const spec = view.spec ?? view.data?.proposal ?? {};
  takeSpec(spec);
  if (view.data) {
    const { problems, cautions } = await put(path("spec"), spec);
    takeSpec(spec, problems, cautions);
  }
  drawn = places(state.spec);
  guessFiles();
  keepAddress();
  changed("project");
}

// Files and data anew, as the server sees them now.
export async function refreshView() {
  const view = await get(path());
  state.view.project = view.project;
  state.view.data = view.data;
  guessFiles();
}

export const files = (...kinds) => (state.view.project.files ?? []).filter((one) => !kinds.length || kinds.includes(one.kind));

function guessFiles() {
  const named = (kind, words) => files(kind).find((one) => words.test(one.name))?.name;
  const only = files("vector").filter((one) => one.name !== state.view.data?.file);
  state.decide.areas ||= named("vector", /district|region|area|province|admin|county/i) ?? (only.length === 1 ? only[0].name : "");
  state.decide.weights ||= named("raster", /pop|people|person|inhabit/i) ?? "";
}

export function keepAddress() {
  const query = new URLSearchParams();
  if (state.project) query.set("project", state.project);
  if (state.fit) query.set("fit", state.fit);
  history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}${location.hash}`);
}

// -------------------------------------------------------------------------------- roles

export const ROLES = [
  ["", "not used"], ["x", "east, longitude"], ["y", "north, latitude"], ["t", "time"], ["target", "what is measured"],
  ["trials", "number examined"], ["exposure", "population"], ["covariate", "covariate"], ["groups", "group, household"], ["error_sd", "standard error"],
];
const SINGLE = ["x", "y", "t", "target", "trials", "exposure", "groups", "error_sd"];

export function takeSpec(spec, problems = [], cautions = []) {
  state.spec = { measures: "number", coords: [], covariates: [], covariate: {}, drop_bad: false, ...spec };
  Object.assign(state, { problems, cautions });
  const roles = {};
  for (const name of state.spec.covariates ?? []) roles[name] = "covariate";
  (state.spec.coords ?? []).forEach((name, k) => { roles[name] = ["x", "y", "t"][k]; });
  for (const role of ["groups", "error_sd", "exposure", "trials", "target"]) if (state.spec[role]) roles[state.spec[role]] = role;
  state.roles = roles;
}

export const columnWith = (role) => Object.keys(state.roles).find((name) => state.roles[name] === role) ?? null;

// One column plays a part; whoever played it before, if there is one such part, is not used any more.
export function setRole(name, role) {
  if (SINGLE.includes(role)) for (const other of Object.keys(state.roles)) if (state.roles[other] === role) delete state.roles[other];
  if (name) {
    if (role) state.roles[name] = role;
    else delete state.roles[name];
  }
  const measures = role === "trials" ? "positives" : role === "exposure" ? "cases" : state.spec.measures;
  return setSpec({ measures });
}

// The spec as it is on the page, to the server: one save after the other, of which a later one overtakes.
let latest = 0, saving = Promise.resolve(), drawn = "";

export function setSpec(patch) {
  Object.assign(state.spec, patch, {
    coords: ["x", "y", "t"].map(columnWith).filter(Boolean),
    covariates: Object.keys(state.roles).filter((name) => state.roles[name] === "covariate"),
    ...Object.fromEntries(["target", "trials", "exposure", "groups", "error_sd"].map((role) => [role, columnWith(role)])),
  });
  const turn = ++latest, { spec } = state;
  saving = saving.catch(() => {}).then(() => save(turn, spec));
  return saving;
}

// All edits, that of the field which is being typed in too, are at the server; a save that was refused is tried again.
export async function saved() {
  if (document.activeElement?.matches("input")) document.activeElement.blur();
  await saving.catch(() => setSpec({}));
}

async function save(turn, spec) {
  if (turn !== latest) return;
  const found = await put(path("spec"), spec);
  if (turn !== latest) return;
  const { roles } = state;
  takeSpec(found.spec, found.problems, found.cautions);
  if ((found.spec.coords ?? []).length === 1) state.roles = roles; // half a place: which half is known here alone
  if (places(state.spec) !== drawn) {
    drawn = places(state.spec);
    await refreshView();
    changed("data");
  }
  changed("spec");
}

// Which columns say where, and how: another answer is another map of the data.
const places = ({ coords, crs, layer }) => JSON.stringify([coords ?? [], crs ?? null, layer ?? null]);

// A fit as it was last heard of.
export function takeFit(fit) {
  const k = state.view.fits.findIndex((one) => one.id === fit.id);
  if (k < 0) state.view.fits.push(fit);
  else state.view.fits[k] = fit;
}

export function chooseFit(id) {
  state.fit = id;
  state.threshold = null;
  keepAddress();
  changed("fit");
}
