// The drawer: the commands and the Python of what is on the screen, to be kept.

import { get } from "./api.js";
import { byId, el } from "./dom.js";
import { mapOptions } from "./map_step.js";
import { copyButton, fill, loading, message, note } from "./parts.js";
import { path, state } from "./state.js";

const PARTS = [
  ["shell", "Shell", "Run these in the folder of the project; they give the same numbers."],
  ["python", "Python", "The same as a script."],
  ["toml", "model.toml", "What bochner fit --config reads."],
];

let turn = 0, waiting = 0;

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

// Soon, once, however often it is asked for.
export function refreshDrawer() {
  if (byId("drawer").hidden) return;
  clearTimeout(waiting);
  waiting = setTimeout(show, 150);
}

async function show() {
  const body = byId("drawer-body"), mine = ++turn;
  if (!state.project) return fill(body, note("Open a project first: the code of it stands here."));
  if (!body.children.length) fill(body, loading("Writing it down …"));
  try {
    const found = await get(`${path("drawer")}?${question()}`);
    if (mine !== turn) return null;
    return fill(body, PARTS.map(([name, title, words]) => el("section", { "aria-labelledby": `drawer-${name}-title` },
      el("div", { class: "drawer-head" }, el("h3", { id: `drawer-${name}-title` }, title), copyButton(() => found[name] ?? "", title)),
      note(name === "shell" && state.view.project.folder ? `${words} Folder: ${state.view.project.folder}` : words),
      el("pre", { tabindex: 0, id: `drawer-${name}` }, found[name] ?? ""))));
  } catch (error) {
    return fill(body, message("error", error.message));
  }
}

function question() {
  const { resolution, within } = mapOptions(), { areas, weights } = state.decide;
  const all = { fit: state.fit, threshold: state.threshold, resolution, within, areas, weights };
  return new URLSearchParams(Object.entries(all).filter(([, value]) => value !== null && value !== ""));
}
