// The page of a report: one map panel, its table of areas, and paper.

import { listenToTable, showInTable } from "./areas.js";
import { byId } from "./dom.js";
import { exceedance, responseMoments } from "./law.js";
import { lawOf, MapPanel } from "./panel.js";
import { drawForPrint } from "./print.js";

async function start() {
  const data = JSON.parse(byId("payload").textContent), table = byId("areas-table");
  const law = await lawOf(data);
  const panel = new MapPanel(byId("map-card"), data, law, { hooks: { onArea: (i) => showInTable(table, i) } });
  if (table) {
    listenToTable(table, (i) => {
      panel.chooseArea(i, true);
      if (panel.chosen !== null) byId("map-section").scrollIntoView({ block: "start" });
    });
  }
  drawForPrint(panel);
  window.addEventListener("beforeprint", () => drawForPrint(panel));
  document.documentElement.dataset.ready = "yes";
  // for the console, and for whoever wants the numbers
  window.bochner = {
    valueAt: (x, y) => panel.valueAt(x, y),
    setThreshold: (value) => panel.setThreshold(value),
    layer: () => panel.layer,
    labels: () => panel.labels,
    chosen: () => (panel.chosen === null ? null : data.areas[panel.chosen].name),
    zoomBy: (factor) => panel.map.zoomBy(factor),
    moments: (eta, sdEta) => responseMoments(data.link, eta, sdEta, data.nodes, data.mass),
    exceedance: (eta, sdEta, threshold) => exceedance(data.link, eta, sdEta, threshold),
  };
}

start().catch((error) => {
  byId("map-loading").textContent =
    "The map could not be drawn: this browser cannot unpack it. Any current browser can (Chrome or Edge 103, Firefox 113, Safari 16.4, or newer).";
  console.error(error);
});
