// Small maps: dots at the places of the data, residuals, a raster, a difference; all on the report's map.

import { colourBar, markScale, showScale } from "./colourbar.js";
import { el } from "./dom.js";
import { dotAt, drawDots, MapCanvas, mapFrame } from "./mapcanvas.js";
import { domainOf, plainNumber, readable, Scale } from "./scale.js";
import { Surface } from "./surface.js";

export const VALUES = ["#1f2a63", "#22628f", "#2f9a8c", "#8ecb6b", "#f6eb9a"];
export const SIGNED = ["#21558f", "#7fb0d3", "#f2efe9", "#e39a78", "#a3272f"];
const KM = 111.2; // of a degree of latitude

// Where the frame of a map lies around places, with a margin, and how long its units are.
export function frameOf({ x, y, names, geographic, km: known }, background = {}) {
  const range = (values) => {
    const known = values.filter(Number.isFinite);
    return [known.reduce((a, b) => Math.min(a, b), Infinity), known.reduce((a, b) => Math.max(a, b), -Infinity)];
  };
  const [west, east] = range(x), [south, north] = range(y), room = 0.06 * Math.max(east - west, north - south) || 1;
  const km = known ?? (geographic ? [KM * Math.cos((((south + north) / 2) * Math.PI) / 180), KM] : null);
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

// A raster as it is; colours run over its own values, or evenly about 0 for a difference.
export function rasterMap(root, prefix, label, data, values, cover, { title = "", signed = false } = {}) {
  const range = domainOf(values, () => true), most = Math.max(Math.abs(range[0]), Math.abs(range[1])) || 1;
  const scale = signed ? new Scale(SIGNED, [-most, most]) : new Scale(VALUES, range);
  const surface = new Surface(data.columns, data.rows, values, cover), image = surface.blank();
  surface.paint(image, surface.refine(values), ...scale.domain, scale.table(1024));
  const frame = mapFrame(prefix, label), bar = colourBar(prefix);
  root.replaceChildren(frame, bar);
  const at = (place) => {
    const i = map.view.pixelAt(...place);
    return i < 0 || Number.isNaN(values[i]) ? null : values[i];
  };
  const map = new MapCanvas(frame, data, {
    image: () => image,
    marks: () => {},
    lines: (place) => (at(place) === null ? [] : [`${signed ? "difference " : ""}${readable(at(place))}`]),
    pointed: (place) => markScale(bar, scale, place && at(place)),
  }, 420);
  showScale(bar, scale, title, plainNumber);
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
