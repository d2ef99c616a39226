// Areas: outlines, names, coastlines and borders on the map, and the table that goes with them.

import { ticks } from "./scale.js";
import { FONT } from "./theme.js";

function tracePath(context, view, flat) {
  for (let k = 0; k < flat.length; k += 2) {
    const [px, py] = view.toCanvas(flat[k], flat[k + 1]);
    if (k) context.lineTo(px, py);
    else context.moveTo(px, py);
  }
}

function strokeLines(context, view, lines, colour, width, dash) {
  context.save();
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.lineJoin = "round";
  context.setLineDash(dash);
  context.beginPath();
  for (const line of lines) tracePath(context, view, line);
  context.stroke();
  context.restore();
}

// A graticule below the map: a line stands at every tick of the axes.
export function drawGraticule(context, view) {
  const { left, top } = view.margin, { width, height } = view.inner;
  const [west, north] = view.toWorld(left, top), [east, south] = view.toWorld(left + width, top + height);
  context.save();
  context.strokeStyle = "rgb(80 95 105 / 0.16)";
  context.lineWidth = 1;
  context.beginPath();
  for (const x of ticks(west, east, Math.max(4, width / 100))) {
    const px = Math.round(view.toCanvas(x, 0)[0]) + 0.5;
    context.moveTo(px, top);
    context.lineTo(px, top + height);
  }
  for (const y of ticks(south, north, Math.max(4, height / 80))) {
    const py = Math.round(view.toCanvas(0, y)[1]) + 0.5;
    context.moveTo(left, py);
    context.lineTo(left + width, py);
  }
  context.stroke();
  context.restore();
}

// Coast and borders above the map, with a rim that keeps them apart from any colour and from a dark ground.
export function drawOutlines(context, view) {
  const { coast = [], border = [] } = view.data.background;
  for (const lines of [border, coast]) strokeLines(context, view, lines, "rgb(255 255 255 / 0.6)", 2.8, []);
  strokeLines(context, view, border, "rgb(24 32 38 / 0.9)", 1.1, [5, 3]);
  strokeLines(context, view, coast, "rgb(24 32 38 / 0.9)", 1.1, []);
}

// Oblique lines across areas without data, 9 pixels apart.
function hatch(context, view, rings) {
  context.save();
  context.beginPath();
  for (const ring of rings) tracePath(context, view, ring);
  context.clip("evenodd");
  const lines = Array.from({ length: Math.ceil((view.width + view.height) / 9) }, (_, k) => 9 * k - view.height);
  context.beginPath();
  for (const x of lines) {
    context.moveTo(x, view.height);
    context.lineTo(x + view.height, 0);
  }
  for (const [width, colour] of [[3, "rgb(255 255 255 / 0.7)"], [1.2, "rgb(24 32 38 / 0.8)"]]) {
    Object.assign(context, { lineWidth: width, strokeStyle: colour });
    context.stroke();
  }
  context.restore();
}

export function drawAreas(context, view, chosen) {
  const { areas } = view.data;
  hatch(context, view, areas.filter((area) => area.no_data).flatMap((area) => area.rings));
  for (const [width, colour] of [[2.6, "rgb(255 255 255 / 0.55)"], [0.9, "rgb(24 32 38 / 0.85)"]]) {
    strokeLines(context, view, areas.flatMap((area) => area.rings), colour, width, []);
  }
  if (chosen !== null && areas[chosen]) {
    strokeLines(context, view, areas[chosen].rings, "#ffffff", 5.5, []);
    strokeLines(context, view, areas[chosen].rings, "#d0342c", 3, []);
  }
}

// Names of areas, the largest first; one that would lie over another or beyond the frame is left out.
export function placeNames(context, view) {
  const { left, top } = view.margin, { width, height } = view.inner, placed = [];
  context.font = `600 ${view.width < 520 ? 10.5 : 12}px ${FONT}`;
  for (const area of [...view.data.areas].sort((a, b) => a.size - b.size)) {
    const [px, py] = view.toCanvas(...area.at), name = area.no_data ? `${area.name}: no data` : area.name;
    const wide = context.measureText(name).width + 4, box = { name, x: px - wide / 2, y: py - 8, width: wide, height: 16, px, py };
    const inside = box.x > left && box.x + wide < left + width && box.y > top && box.y + 16 < top + height - 34;
    const apart = placed.every((o) => box.x > o.x + o.width || box.x + wide < o.x || box.y > o.y + 16 || box.y + 16 < o.y);
    if (inside && apart) placed.push(box);
  }
  return placed;
}

export function drawNames(context, view) {
  const placed = placeNames(context, view);
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 3.2;
  for (const { name, px, py } of placed) {
    context.strokeStyle = "rgb(255 255 255 / 0.9)";
    context.strokeText(name, px, py);
    context.fillStyle = "#10191f";
    context.fillText(name, px, py);
  }
  return placed;
}

export function areaAt(areas, x, y) {
  return areas.findIndex((area) => {
    let inside = false;
    for (const ring of area.rings) {
      for (let k = 0, j = ring.length - 2; k < ring.length; j = k, k += 2) {
        const [ax, ay, bx, by] = [ring[k], ring[k + 1], ring[j], ring[j + 1]];
        if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
      }
    }
    return inside;
  });
}

export function boundsOf(area) {
  const xs = area.rings.flatMap((r) => r.filter((_, k) => k % 2 === 0)), ys = area.rings.flatMap((r) => r.filter((_, k) => k % 2));
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
}

// The table: a click on a heading sorts, a click on a name shows the area on the map.
export function listenToTable(table, choose) {
  const body = table.tBodies[0];
  for (const [k, head] of [...table.tHead.rows[0].cells].entries()) {
    head.querySelector("button").addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => (k ? Number(row.cells[k].dataset.value) : row.cells[0].textContent.trim());
      const order = (a, b) => (k ? key(a) - key(b) : key(a).localeCompare(key(b)));
      body.replaceChildren(...[...body.rows].sort((a, b) => (down ? -1 : 1) * order(a, b)));
    });
  }
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (row) choose(Number(row.dataset.area));
  });
}

export function showInTable(table, chosen) {
  for (const row of table?.tBodies[0].rows ?? []) {
    row.classList.toggle("chosen", Number(row.dataset.area) === chosen);
  }
}
