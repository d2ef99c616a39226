// Step 3, Fit: what it will cost, how far it is, what was chosen; and the fits of before.

import { follow, get, isOpen, post, remove } from "./api.js";
import { compareFits } from "./compare.js";
import { button, byId, el } from "./dom.js";
import { announce, attempt, bytes, duration, fill, message, note, progressLine, showProgress } from "./parts.js";
import { changed, chooseFit, isDone, keepAddress, path, saved, state, takeFit } from "./state.js";

const WORDS = { queued: "waiting", running: "running", done: "done", failed: "failed", cancelled: "cancelled", lost: "broken off" };
const followed = new Set();

export function showFit() {
  const root = byId("fit-body");
  if (!state.view.data) return fill(root, note("First choose data, above."));
  fill(root,
    el("div", { class: "start-fit" },
      el("div", { class: "question" }, el("label", { for: "fit-name" }, "Name of this fit (optional)"), el("input", { id: "fit-name", type: "text", maxlength: 60, autocomplete: "off" })),
      button("Fit the model", { id: "fit", class: "main", disabled: state.problems.length > 0, onclick: () => attempt(root, begin) }),
      el("p", { id: "estimate", class: "note", role: "status" })),
    el("div", { id: "running" }),
    el("div", { id: "fits" }));
  showFits();
  estimate();
  for (const fit of state.view.fits.filter(isOpen)) watch(fit);
  return null;
}

export function refreshFitButton() {
  const one = byId("fit");
  if (!one) return;
  one.disabled = state.problems.length > 0;
  estimate();
}

let asked = 0;

// Memory and time before the fit; the last question counts.
async function estimate() {
  const line = byId("estimate"), turn = ++asked;
  if (state.problems.length) {
    line.textContent = "It can be fitted once the points under Model are settled.";
    return;
  }
  line.textContent = "Estimating memory and time …";
  try {
    const { text, memory_bytes: memory, seconds } = await get(path("estimate"));
    if (turn !== asked) return;
    line.textContent = text || `About ${bytes(memory)} of memory and ${duration(seconds)}.`;
  } catch (error) {
    if (turn === asked) line.textContent = error.message;
  }
}

let beginning = null;

// One fit, however often it is asked for while the edits before it are saved.
const begin = () => (beginning ??= saved().then(beginNow).finally(() => { beginning = null; }));

async function beginNow() {
  const name = byId("fit-name").value.trim();
  const fit = await post(path("fits"), name ? { name } : {});
  takeFit(fit);
  state.fit = fit.id;
  state.threshold = null;
  keepAddress();
  byId("fit-name").value = "";
  announce("The fit has started.");
  showFits();
  changed("fit");
  watch(fit);
}

// Follow a fit until it ends; choices appear as they are made.
async function watch(fit) {
  const key = `${state.project}/${fit.id}`;
  if (followed.has(key)) return show(fit);
  followed.add(key);
  const project = state.project;
  show(fit);
  try {
    const last = await follow(path("fits", fit.id), (heard) => project === state.project && (takeFit(heard), show(heard)));
    if (project !== state.project) return;
    takeFit(last);
    byId(`run-${fit.id}`)?.remove();
    announce(last.status === "done" ? "The fit is done. Its checks and its map follow below." : `The fit ended: ${WORDS[last.status]}.`);
    showFits();
    if (state.fit === last.id) changed("fit");
  } catch (error) {
    byId("running")?.prepend(message("error", error.message));
  } finally {
    followed.delete(key);
  }
}

function show(fit) {
  const place = byId("running");
  if (!place) return;
  let card = byId(`run-${fit.id}`);
  if (!card) {
    card = el("div", { class: "run", id: `run-${fit.id}` }, el("h3", {}, fit.name || `fit ${fit.id}`), progressLine(null),
      button("Cancel this fit", { class: "small cancel", onclick: () => attempt(card, () => remove(path("fits", fit.id))) }),
      el("ul", { class: "choices-live", "aria-live": "polite", "aria-label": "Choices as they are made" }));
    place.append(card);
  }
  showProgress(card.querySelector(".progress"), fit);
  const list = card.querySelector("ul");
  for (const text of (fit.choices ?? []).slice(list.children.length)) list.append(el("li", {}, text));
}

function showFits() {
  const place = byId("fits"), { fits } = state.view;
  if (!fits.length) return fill(place, note("No fit yet. It runs in a process of its own: you may close this page meanwhile, and find it again."));
  const done = fits.filter(isDone);
  return fill(place, el("h3", {}, "Fits"), el("ul", { class: "fits" }, [...fits].reverse().map(row)), failed(),
    done.length > 1 && compareFits(done));
}

function row(fit) {
  const when = fit.started ? new Date(fit.started * 1000).toLocaleString([], { dateStyle: "short", timeStyle: "short" }) : "";
  const took = fit.started && fit.ended ? `took ${duration(fit.ended - fit.started)}` : "";
  const { spec = {} } = fit, what = [spec.target, spec.kernel, ...(spec.covariates ?? []), ...Object.keys(spec.covariate ?? {})].filter(Boolean).join(", ");
  const chosen = fit.id === state.fit;
  return el("li", { class: chosen ? "chosen" : "" },
    button(`${fit.name || `fit ${fit.id}`}`, { class: "link", "aria-pressed": String(chosen), "data-fit": fit.id, onclick: () => { chooseFit(fit.id); showFits(); } }),
    el("span", { class: `status ${fit.status}` }, WORDS[fit.status] ?? fit.status),
    el("span", { class: "note" }, [what, when, took].filter(Boolean).join(" · ")),
    !isOpen(fit) && button("Remove", { class: "small", "aria-label": `Remove the fit ${fit.name || fit.id}`, "data-remove": fit.id, onclick: () => attempt(byId("fits"), () => drop(fit)) }));
}

async function drop(fit) {
  if (isDone(fit) && !window.confirm(`Remove ${fit.name || `fit ${fit.id}`} with its model, maps and reports from the disk?`)) return;
  await remove(path("fits", fit.id));
  state.view.fits = state.view.fits.filter((one) => one.id !== fit.id);
  if (state.fit === fit.id) chooseFit([...state.view.fits].reverse().find(isDone)?.id ?? null);
  showFits();
}

function failed() {
  const fit = state.view.fits.find((one) => one.id === state.fit);
  if (!fit?.error) return null;
  return message("error", fit.error, (fit.log ?? []).length > 0 && el("details", { id: "fit-log" }, el("summary", {}, "What it said"), el("pre", { tabindex: 0 }, fit.log.join("\n"))));
}

