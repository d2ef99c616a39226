// The drawer: the commands and the Python of what is on the screen, to be kept.

import { get } from "./api.js";
import { byId, el } from "./dom.js";
import { mapOptions } from "./map_step.js";
import { copyButton, fill, loading, message, note } from "./parts.js";
import { chosenFit, path, state } from "./state.js";

const PARTS = [
  ["shell", "Shell", "Run these in the folder of the project; they give the same numbers."],
  ["python", "Python", "The same as a script."],
  ["toml", "model.toml", "What bochner fit --config reads."],
];

let turn = 0, waiting = 0, written = null; // what the drawer was last written for

export function listenToDrawer() {
  const toggle = byId("drawer-toggle");
  toggle.addEventListener("click", () => open(byId("drawer").hidden));
  byId("drawer-close").addEventListener("click", () => open(false));
  byId("drawer").addEventListener("keydown", (event) => event.key === "Escape" && open(false));
}

function open(on) {
  byId("drawer").hidden = !on;
  byId("drawer-toggle").setAttribute("aria-expanded", String(on));
  document.body.classList.toggle("with-drawer", on);
  if (on) {
    refreshDrawer();
    byId("drawer-title").focus();
  } else byId("drawer-toggle").focus();
}

// Soon, once, however often it is asked for; code of another project or fit goes at once, so that nobody copies it.
export function refreshDrawer() {
  if (byId("drawer").hidden) return;
  const wanted = `${state.project}/${state.fit}`;
  if (wanted !== written) fill(byId("drawer-body"), loading("Writing it down …"));
  written = wanted;
  clearTimeout(waiting);
  waiting = setTimeout(show, 150);
}

async function show() {
  const body = byId("drawer-body"), mine = ++turn;
  if (!state.project) return fill(body, note("Open a project first: the code of it stands here."));
  try {
    const found = await get(`${path("drawer")}?${question()}`), next = differs() ? await get(path("drawer")) : null;
    if (mine !== turn) return null;
    return fill(body, next && message("plain", "The model above was changed since the fit that is shown. First stands the fit that is shown; last, what the next one will be told."),
      PARTS.map(([name, title, words]) => part(name, title, words, found[name])),
      next && part("next", "model.toml of the next fit", "As the model stands above, not fitted yet.", next.toml));
  } catch (error) {
    return fill(body, message("error", error.message));
  }
}

function part(name, title, words, text = "") {
  const where = name === "shell" && state.view.project.folder ? ` Folder: ${state.view.project.folder}` : "";
  return el("section", { "aria-labelledby": `drawer-${name}-title` },
    el("div", { class: "drawer-head" }, el("h3", { id: `drawer-${name}-title` }, title), copyButton(() => text, title)),
    note(`${words}${where}`),
    el("pre", { tabindex: 0, id: `drawer-${name}` }, text));
}

// Whether the model on the screen is another than that of the fit which is shown.
function differs() {
  const fit = chosenFit(), plain = (spec) => JSON.stringify(Object.entries(spec).filter(([, value]) => value !== null && value !== "").sort());
  return Boolean(fit?.spec) && plain(fit.spec) !== plain(state.spec);
}

function question() {
  const { resolution, within } = mapOptions(), { areas, weights } = state.decide;
  const all = { fit: state.fit, threshold: state.threshold, resolution, within, areas, weights };
  return new URLSearchParams(Object.entries(all).filter(([, value]) => value !== null && value !== ""));
}
