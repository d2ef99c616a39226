// Areas: outlines, names, coastlines and borders on the map, and the table that goes with them.

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

// Coast, borders and a graticule below the areas; a line of the graticule stands at every tick of the axes.
function drawBackground(context, view) {
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
  strokeLines(context, view, data.background.coast ?? [], "rgb(36 49 59 / 0.75)", 1.1, []);
  strokeLines(context, view, data.background.border ?? [], "rgb(36 49 59 / 0.6)", 1, [5, 3]);
}

function drawAreas(context, view, chosen) {
  for (const [width, colour] of [[2.6, "rgb(255 255 255 / 0.55)"], [0.9, "rgb(24 32 38 / 0.85)"]]) {
    strokeLines(context, view, data.areas.flatMap((area) => area.rings), colour, width, []);
  }
  if (chosen !== null && data.areas[chosen]) {
    strokeLines(context, view, data.areas[chosen].rings, "#ffffff", 5.5, []);
    strokeLines(context, view, data.areas[chosen].rings, "#d0342c", 3, []);
  }
}

// Names of areas, the largest first; one that would lie over another or beyond the frame is left out.
function placeNames(context, view) {
  const { left, top } = view.margin, { width, height } = view.inner, placed = [];
  context.font = `600 ${view.width < 520 ? 10.5 : 12}px ${FONT}`;
  for (const area of [...data.areas].sort((a, b) => a.size - b.size)) {
    const [px, py] = view.toCanvas(...area.at), wide = context.measureText(area.name).width + 4;
    const box = { name: area.name, x: px - wide / 2, y: py - 8, width: wide, height: 16, px, py };
    const inside = box.x > left && box.x + wide < left + width && box.y > top && box.y + 16 < top + height - 34;
    const apart = placed.every((o) => box.x > o.x + o.width || box.x + wide < o.x || box.y > o.y + 16 || box.y + 16 < o.y);
    if (inside && apart) placed.push(box);
  }
  return placed;
}

function drawNames(context, view) {
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

function areaAt(x, y) {
  return data.areas.findIndex((area) => {
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

function boundsOf(area) {
  const xs = area.rings.flatMap((r) => r.filter((_, k) => k % 2 === 0)), ys = area.rings.flatMap((r) => r.filter((_, k) => k % 2));
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
}

// The table: a click on a heading sorts, a click on a name shows the area on the map.
function listenToTable(page) {
  const table = byId("areas-table");
  if (!table) return;
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
    if (row) page.chooseArea(Number(row.dataset.area), true);
  });
}

function showInTable(chosen) {
  for (const row of document.querySelectorAll("#areas-table tbody tr")) {
    row.classList.toggle("chosen", Number(row.dataset.area) === chosen);
  }
}

// --------------------------------------------------------------------------- downloads

function save(name, kind, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// The map as it is on the screen, with its legend, on a canvas of its own.
function picture(page, ratio = 2) {
  const { width, height } = page.view, head = 44, foot = 52, canvas = document.createElement("canvas");
  canvas.width = ratio * width;
  canvas.height = ratio * (head + height + foot);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  inLight(() => {
    context.fillStyle = "#ffffff";
    context.fillRect(0, 0, width, head + height + foot);
    context.fillStyle = INK;
    context.font = `600 17px ${FONT}`;
    context.textBaseline = "middle";
    context.fillText(document.title, page.view.margin.left, 15);
    context.font = `13px ${FONT}`;
    context.fillText(page.words(page.layer), page.view.margin.left, 35);
    context.translate(0, head);
    page.view.draw(context, page.image(page.layer), (c, v) => page.marks(c, v));
    printLegend(context, page.scales[page.layer], page.layer, page.view.margin.left, height + 6, page.view.inner.width);
  });
  return canvas;
}

// SVG: the picture below, outlines and names above it as lines and text that can be edited.
function svgPicture(page) {
  const view = page.view, { left, top } = view.margin, { width, height } = view.inner;
  const chosen = data.areas, image = page.image(page.layer);
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
  const names = placeNames(page.canvas.getContext("2d"), view).map(
    ({ name, px, py }) => `<text x="${px.toFixed(1)}" y="${(py + 4).toFixed(1)}" text-anchor="middle">${safe(name)}</text>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${view.width} ${view.height + 10}" font-family="sans-serif" font-size="12">`,
    `<title>${safe(`${document.title}: ${page.words(page.layer)}`)}</title>`,
    `<clipPath id="frame"><rect x="${left}" y="${top}" width="${width}" height="${height}"/></clipPath>`,
    `<g clip-path="url(#frame)"><image href="${image.toDataURL()}" x="${x0}" y="${y0}" width="${x1 - x0}" height="${y1 - y0}" preserveAspectRatio="none"/>`,
    lines(data.background.coast ?? [], 'stroke="#24313b" stroke-width="1"'),
    lines(data.background.border ?? [], 'stroke="#24313b" stroke-dasharray="5 3"'),
    lines(chosen.flatMap((area) => area.rings), 'stroke="#182026" stroke-width="0.9"'),
    ...names,
    `</g><rect x="${left}" y="${top}" width="${width}" height="${height}" fill="none" stroke="#9aa6af"/></svg>`,
  ].join("\n");
}

function listenToDownloads(page) {
  const slug = document.title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "map";
  byId("save-csv")?.addEventListener("click", () => save(`${slug}-areas.csv`, "text/csv", data.csv));
  byId("save-png").addEventListener("click", () => picture(page).toBlob((blob) => save(`${slug}.png`, "image/png", blob)));
  byId("save-svg").addEventListener("click", () => save(`${slug}.svg`, "image/svg+xml", svgPicture(page)));
}
