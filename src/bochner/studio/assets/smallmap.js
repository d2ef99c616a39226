// A map of dots: places of the data, or residuals, on the report's map.

import { colourBar, showScale } from "./colourbar.js";
import { el } from "./dom.js";
import { dotAt, drawDots, MapCanvas, mapFrame } from "./mapcanvas.js";
import { readable, plainNumber, Scale } from "./scale.js";

export const VALUES = ["#1f2a63", "#22628f", "#2f9a8c", "#8ecb6b", "#f6eb9a"];
export const SIGNED = ["#21558f", "#7fb0d3", "#f2efe9", "#e39a78", "#a3272f"];
const KM = 111.2; // of a degree of latitude

// Where the frame of a map lies around places, with a margin, and how long its units are.
export function frameOf({ x, y, names, geographic }, background = {}) {
  const range = (values) => {
    const known = values.filter(Number.isFinite);
    return [known.reduce((a, b) => Math.min(a, b), Infinity), known.reduce((a, b) => Math.max(a, b), -Infinity)];
  };
  const [west, east] = range(x), [south, north] = range(y), room = 0.06 * Math.max(east - west, north - south) || 1;
  const km = geographic ? [KM * Math.cos((((south + north) / 2) * Math.PI) / 180), KM] : null;
  return {
    extent: [west - room, south - room, east + room, north + room], names, geographic, km, background, areas: [],
    lengthUnit: km ? "km" : "units",
  };
}

// `dots`: x, y, value?; `marked`: numbers of dots that are drawn with a red ring; `ramp` and `domain` of the colours.
export function dotMap(root, prefix, label, data, dots, { ramp = VALUES, domain = null, title = "", marked = [], words } = {}) {
  const known = (dots.value ?? []).filter(Number.isFinite).sort((a, b) => a - b);
  const at = (q) => known[Math.round(q * (known.length - 1))];
  const scale = known.length ? new Scale(ramp, domain ?? (at(0.98) > at(0.02) ? [at(0.02), at(0.98)] : [at(0) - 0.5, at(0) + 0.5])) : null;
  const frame = mapFrame(prefix, label), bar = colourBar(prefix);
  root.replaceChildren(frame, ...(scale ? [bar] : []));
  const ring = new Set(marked);
  const map = new MapCanvas(frame, data, {
    image: () => null,
    marks: (context, view) => {
      drawDots(context, view, dots, (i) => (scale && Number.isFinite(dots.value[i]) ? scale.css(dots.value[i]) : "#ffffff"));
      drawRings(context, view, dots, ring);
    },
    lines: (place, px, py) => {
      const i = dotAt(map.view, dots, px, py);
      return i < 0 ? [] : words(i);
    },
  }, 420);
  if (scale) showScale(bar, scale, title, plainNumber);
  return map;
}

function drawRings(context, view, { x, y }, ring) {
  context.lineWidth = 2.5;
  context.strokeStyle = "#d0342c";
  for (const i of ring) {
    context.beginPath();
    context.arc(...view.toCanvas(x[i], y[i]), 9, 0, 2 * Math.PI);
    context.stroke();
  }
}

export const told = (value) => (Number.isFinite(value) ? readable(value) : "missing");
export const mapHolder = (id) => el("div", { id, class: "small-map" });
