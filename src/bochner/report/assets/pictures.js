// Pictures: the map as it is on the screen, as a file.

import { placeNames } from "./areas.js";
import { printLegend } from "./print.js";
import { FONT, inLight, theme } from "./theme.js";

export function save(name, kind, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// The map as it is on the screen, with its legend, on a canvas of its own.
export function picture(panel, ratio = 2) {
  const { width, height } = panel.map.view, head = 44, foot = 52, canvas = document.createElement("canvas");
  canvas.width = ratio * width;
  canvas.height = ratio * (head + height + foot);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  inLight(() => {
    context.fillStyle = "#ffffff";
    context.fillRect(0, 0, width, head + height + foot);
    context.fillStyle = theme.ink;
    context.font = `600 17px ${FONT}`;
    context.textBaseline = "middle";
    context.fillText(panel.title, panel.map.view.margin.left, 15);
    context.font = `13px ${FONT}`;
    context.fillText(panel.words(panel.layer), panel.map.view.margin.left, 35, panel.map.view.inner.width);
    context.translate(0, head);
    panel.map.view.draw(context, panel.image(panel.layer), (c, v) => panel.marks(c, v));
    printLegend(context, panel.scales[panel.layer], panel.layer, panel.data, panel.map.view.margin.left, height + 6, panel.map.view.inner.width);
  });
  return canvas;
}

// SVG: the picture below, outlines and names above it as lines and text that can be edited.
export function svgPicture(panel) {
  const { view } = panel.map, { data } = panel, { left, top } = view.margin, { width, height } = view.inner;
  const image = panel.image(panel.layer);
  const [x0, y0] = view.toCanvas(view.west, view.north), [x1, y1] = view.toCanvas(view.east, view.south);
  const path = (flat) => {
    let text = "";
    for (let k = 0; k < flat.length; k += 2) {
      text += `${k ? "L" : "M"}${view.toCanvas(flat[k], flat[k + 1]).map((v) => v.toFixed(1)).join(" ")}`;
    }
    return text;
  };
  const safe = (text) => text.replace(/[<&>]/g, (c) => ({ "<": "&lt;", "&": "&amp;", ">": "&gt;" })[c]);
  const lines = (flats, style) => `<path d="${flats.map(path).join("")}" fill="none" ${style}/>`;
  const names = placeNames(panel.map.canvas.getContext("2d"), view).map(
    ({ name, px, py }) => `<text x="${px.toFixed(1)}" y="${(py + 4).toFixed(1)}" text-anchor="middle">${safe(name)}</text>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${view.width} ${view.height + 10}" font-family="sans-serif" font-size="12">`,
    `<title>${safe(`${panel.title}: ${panel.words(panel.layer)}`)}</title>`,
    `<clipPath id="frame"><rect x="${left}" y="${top}" width="${width}" height="${height}"/></clipPath>`,
    `<g clip-path="url(#frame)"><image href="${image.toDataURL()}" x="${x0}" y="${y0}" width="${x1 - x0}" height="${y1 - y0}" preserveAspectRatio="none"/>`,
    lines(data.background.coast ?? [], 'stroke="#24313b" stroke-width="1"'),
    lines(data.background.border ?? [], 'stroke="#24313b" stroke-dasharray="5 3"'),
    '<pattern id="hatch" width="9" height="9" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M3 0V9" stroke="#ffffff" stroke-width="3" stroke-opacity="0.7"/><path d="M3 0V9" stroke="#182026" stroke-width="1.2"/></pattern>',
    ...data.areas.filter((area) => area.no_data).map(({ rings }) => `<path d="${rings.map(path).join("")}" fill="url(#hatch)" fill-rule="evenodd"/>`),
    lines(data.areas.flatMap((area) => area.rings), 'stroke="#182026" stroke-width="0.9"'),
    ...names,
    `</g><rect x="${left}" y="${top}" width="${width}" height="${height}" fill="none" stroke="#9aa6af"/></svg>`,
  ].join("\n");
}
