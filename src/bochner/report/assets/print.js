// Print: every layer as a still map of its own.

import { drawAreas, drawNames } from "./areas.js";
import { tickText, ticks } from "./scale.js";
import { FONT, inLight, theme } from "./theme.js";
import { View } from "./view.js";

export function drawForPrint(panel) {
  inLight(() => drawOnPaper(panel));
}

function drawOnPaper(panel) {
  for (const canvas of document.querySelectorAll("[data-print]")) {
    const layer = canvas.dataset.print, scale = panel.scales[layer], [west, south, east, north] = panel.data.extent;
    const width = 640, shape = ((north - south) * panel.map.view.aspect) / (east - west);
    const height = Math.round(Math.min(620, Math.max(260, (width - 70) * shape + 54)));
    const view = new View(panel.data, width, height), bar = 46, ratio = 2;
    canvas.width = ratio * width;
    canvas.height = ratio * (height + bar);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    view.draw(context, panel.image(layer), (c, v) => {
      drawAreas(c, v, null);
      if (panel.showObservations) panel.dots(c, v, layer);
      if (layer === "mean") drawNames(c, v);
    });
    printLegend(context, scale, layer, panel.data, view.margin.left, height + 8, view.inner.width);
  }
  for (const place of document.querySelectorAll("[data-print-title]")) {
    place.textContent = panel.words(place.dataset.printTitle);
  }
}

export function printLegend(context, scale, layer, data, left, top, width) {
  for (let i = 0; i < width; i++) {
    const [low, high] = scale.domain;
    context.fillStyle = scale.css(low + ((high - low) * i) / width);
    context.fillRect(left + i, top, 1.5, 12);
  }
  const at = ticks(...scale.domain, 5), step = at.length > 1 ? at[1] - at[0] : 1;
  context.fillStyle = theme.ink;
  context.font = `13px ${FONT}`;
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const value of at) {
    const text = tickText(layer, value, step, data);
    context.fillText(text, left + width * scale.position(value), top + 16);
  }
}
