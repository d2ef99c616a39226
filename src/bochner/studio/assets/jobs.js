// Jobs of a fit: started, followed, cancelled; the page may be closed meanwhile.

import { follow, isOpen, post, remove } from "./api.js";
import { button, el } from "./dom.js";
import { announce, message, progressLine, showProgress } from "./parts.js";
import { chosenFit, fitPath } from "./state.js";

// Start a job and show its progress in a place; resolves with the job once it is done, rejects with its error.
export async function runJob(place, what, options) {
  const job = await post(fitPath("jobs"), { what, ...options });
  return watchJob(place, job);
}

export async function watchJob(place, job) {
  const line = progressLine(null), path = fitPath("jobs", job.id);
  const cancel = button("Cancel", { class: "small", onclick: () => remove(path) });
  line.append(cancel);
  place.replaceChildren(line);
  showProgress(line, job);
  const last = isOpen(job) ? await follow(fitPath(), (heard) => showProgress(line, heard), job.id) : job;
  place.replaceChildren();
  keep(last);
  if (last.status === "done") return last;
  if (last.status === "cancelled") {
    place.replaceChildren(message("plain", "Cancelled."));
    announce("Cancelled.");
    return null;
  }
  throw new Error(last.error || `The job ended without a result (${last.status}).`);
}

function keep(job) {
  const fit = chosenFit();
  if (!fit) return;
  fit.jobs = [...(fit.jobs ?? []).filter((one) => one.id !== job.id), job];
}

// The latest job of a kind, or null.
export function lastJob(what, status = null) {
  const found = (chosenFit()?.jobs ?? []).filter((one) => one.what === what && (!status || one.status === status));
  return found.at(-1) ?? null;
}

export const fileAddress = (name) => `/api/${fitPath("files", name)}`;

export function downloadLink(name, text = name) {
  return el("a", { href: fileAddress(name), download: name, class: "download" }, text);
}
