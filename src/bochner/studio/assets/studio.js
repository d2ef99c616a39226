// The studio: steps down one page, each told when something that it shows has changed.

import { get } from "./api.js";
import { showCheck } from "./check_step.js";
import { showData, showRoles } from "./data_step.js";
import { showDecide, showLimit } from "./decide_step.js";
import { byId } from "./dom.js";
import { listenToDrawer, refreshDrawer } from "./drawer.js";
import { guardDrops } from "./drop.js";
import { refreshFitButton, showFit } from "./fit_step.js";
import { lastJob } from "./jobs.js";
import { showMap } from "./map_step.js";
import { showModel } from "./model_step.js";
import { message } from "./parts.js";
import { showStart } from "./start.js";
import { chosenFit, isDone, keepAddress, listen, openProject, state } from "./state.js";

const TAKEN = ["areas", "hotspots", "geotiff", "report"]; // jobs that something was decided or taken away with
const NEWS = {
  project: () => { showSteps(); showData(); showModel(); showFit(); fitChanged(); },
  data: () => showData(),
  files: () => { showData(); showModel(); fitChanged(); },
  spec: () => { showRoles(); showModel(); refreshFitButton(); },
  fit: fitChanged,
  map: () => showLimit(),
  threshold: () => showLimit(),
  options: () => {},
  answer: () => {},
};

function fitChanged() {
  const fit = chosenFit();
  byId("shown-fit").textContent = fit ? `Shown below: ${fit.name || `fit ${fit.id}`}` : "";
  showCheck();
  showMap().then(() => showDecide());
}

function showSteps() {
  byId("start").hidden = true;
  byId("steps").hidden = byId("contents").hidden = false;
  byId("leave").hidden = false;
  byId("project-name").textContent = state.view.project.name;
  document.title = `${state.view.project.name} · bochner studio`;
  window.scrollTo(0, 0);
}

function leave() {
  state.project = state.view = state.fit = null;
  keepAddress();
  byId("start").hidden = false;
  byId("steps").hidden = byId("contents").hidden = true;
  byId("leave").hidden = true;
  byId("project-name").textContent = "From a file to a map";
  document.title = "bochner studio";
  refreshDrawer();
  showStart();
}

// Which steps are done, told by a mark and a word beside the name.
function markSteps() {
  if (!state.view) return;
  const done = { data: Boolean(state.view.data), model: Boolean(state.view.data) && !state.problems.length, fit: state.view.fits.some(isDone) };
  for (const [name, is] of Object.entries({ ...done, check: isDone(chosenFit()), map: isDone(chosenFit()), decide: TAKEN.some((what) => lastJob(what, "done")) })) {
    byId("contents").querySelector(`[data-step=${name}]`)?.classList.toggle("is-done", is);
  }
}

// The project of a file that the studio was started with, for a page that is opened for the first time.
async function begunWith() {
  if (!new URLSearchParams(location.search).has("token")) return null;
  return get("projects").then(({ open }) => open, () => null);
}

async function start() {
  guardDrops();
  listenToDrawer();
  byId("leave").addEventListener("click", leave);
  listen((what) => {
    NEWS[what]?.();
    markSteps();
    refreshDrawer();
  });
  const query = new URLSearchParams(location.search), project = query.get("project") ?? (await begunWith());
  if (project) {
    try {
      await openProject(project, query.get("fit"));
    } catch (error) {
      leave();
      byId("start-body").prepend(message("error", error.message));
    }
  } else leave();
  document.documentElement.dataset.ready = "yes";
}

start();
