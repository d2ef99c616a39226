// The colour bar below a map: what its colours stand for.

import { el } from "./dom.js";
import { ticks } from "./scale.js";

export function colourBar(prefix = "") {
  return el("div", { class: "colourbar" },
    el("p", { id: `${prefix}legend-title`, class: "colourbar-title" }),
    el("div", { class: "colourbar-track" },
      el("div", { id: `${prefix}legend-bar`, class: "colourbar-bar" }),
      el("i", { id: `${prefix}legend-marker`, class: "colourbar-marker", hidden: true })),
    el("div", { id: `${prefix}legend-ticks`, class: "colourbar-ticks" }));
}

export function showScale(bar, scale, title, textOf) {
  const at = ticks(...scale.domain, 5), step = at.length > 1 ? at[1] - at[0] : 1;
  bar.querySelector(".colourbar-bar").style.background = `linear-gradient(to right, ${scale.ramp.join(", ")})`;
  bar.querySelector(".colourbar-title").textContent = title;
  bar.querySelector(".colourbar-ticks").replaceChildren(...at.map((value) => {
    const label = el("span", {}, textOf(value, step));
    label.style.left = `${100 * scale.position(value)}%`;
    return label;
  }));
}

// A mark at a value, or none for null.
export function markScale(bar, scale, value) {
  const marker = bar.querySelector(".colourbar-marker");
  marker.hidden = value === null;
  if (value !== null) marker.style.left = `${100 * scale.position(value)}%`;
}
