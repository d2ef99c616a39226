// Gestures: pointing, dragging, pinching and keys on the map.

function listenToPointer(page) {
  const down = new Map();
  const at = (event) => {
    const box = page.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  page.canvas.addEventListener("pointerdown", (event) => {
    down.set(event.pointerId, at(event));
    if (page.view.zoom > 1 && event.isPrimary) page.canvas.setPointerCapture(event.pointerId);
    page.point(page.view.toWorld(...at(event)), ...at(event));
  });
  page.canvas.addEventListener("pointermove", (event) => {
    const [px, py] = at(event), before = down.get(event.pointerId);
    if (before && down.size === 2) {
      const other = [...down].find(([id]) => id !== event.pointerId)[1];
      const distance = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
      page.view.zoomAt((px + other[0]) / 2, (py + other[1]) / 2, distance([px, py]) / distance(before));
    } else if (before && page.view.zoom > 1) {
      page.view.pan(px - before[0], py - before[1]);
    }
    if (before) down.set(event.pointerId, [px, py]);
    page.point(page.view.toWorld(px, py), px, py);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    page.canvas.addEventListener(name, (event) => down.delete(event.pointerId));
  }
  page.canvas.addEventListener("pointerleave", (event) => {
    down.delete(event.pointerId);
    if (event.pointerType === "mouse") page.leave();
  });
  page.canvas.addEventListener("dblclick", (event) => {
    page.view.zoomAt(...at(event), 2);
    page.draw();
  });
  // a plain wheel scrolls the page; with Ctrl, or by a pinch on a touchpad, it zooms
  page.canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    page.view.zoomAt(...at(event), Math.exp(-event.deltaY * 0.01));
    page.draw();
  }, { passive: false });
}

function key(page, event) {
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  if (event.key === "+" || event.key === "=") page.zoomBy(1.6);
  else if (event.key === "-") page.zoomBy(1 / 1.6);
  else if (event.key === "0") byId("zoom-reset").click();
  else if (event.key === "Escape") page.leave();
  else if (steps[event.key]) step(page, ...steps[event.key], event.shiftKey ? 10 : 2);
  else return;
  event.preventDefault();
}

function step(page, dx, dy, pixels) {
  const [west, south, east, north] = data.extent;
  const [x, y] = page.cursor ?? [page.view.x, page.view.y];
  const place = [
    Math.min(east, Math.max(west, x + (dx * pixels * (east - west)) / data.columns)),
    Math.min(north, Math.max(south, y + (dy * pixels * (north - south)) / data.rows)),
  ];
  page.point(place, ...page.view.toCanvas(...place));
}
