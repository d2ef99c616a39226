// Gestures: pointing, dragging, pinching and keys on the map.

export function listenToPointer(map) {
  const down = new Map();
  const at = (event) => {
    const box = map.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  map.canvas.addEventListener("pointerdown", (event) => {
    down.set(event.pointerId, at(event));
    if (map.view.zoom > 1 && event.isPrimary) map.canvas.setPointerCapture(event.pointerId);
    map.point(map.view.toWorld(...at(event)), ...at(event));
  });
  map.canvas.addEventListener("pointermove", (event) => {
    const [px, py] = at(event), before = down.get(event.pointerId);
    if (before && down.size === 2) {
      const other = [...down].find(([id]) => id !== event.pointerId)[1];
      const distance = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
      map.view.zoomAt((px + other[0]) / 2, (py + other[1]) / 2, distance([px, py]) / distance(before));
    } else if (before && map.view.zoom > 1) {
      map.view.pan(px - before[0], py - before[1]);
    }
    if (before) down.set(event.pointerId, [px, py]);
    map.point(map.view.toWorld(px, py), px, py);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    map.canvas.addEventListener(name, (event) => down.delete(event.pointerId));
  }
  map.canvas.addEventListener("pointerleave", (event) => {
    down.delete(event.pointerId);
    if (event.pointerType === "mouse") map.leave();
  });
  map.canvas.addEventListener("dblclick", (event) => {
    map.view.zoomAt(...at(event), 2);
    map.draw();
  });
  // a plain wheel scrolls the page; with Ctrl, or by a pinch on a touchpad, it zooms
  map.canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    map.view.zoomAt(...at(event), Math.exp(-event.deltaY * 0.01));
    map.draw();
  }, { passive: false });
}

export function key(map, event) {
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  if (event.key === "+" || event.key === "=") map.zoomBy(1.6);
  else if (event.key === "-") map.zoomBy(1 / 1.6);
  else if (event.key === "0") map.reset();
  else if (event.key === "Escape") map.leave();
  else if (steps[event.key]) step(map, ...steps[event.key], event.shiftKey ? 10 : 2);
  else return;
  event.preventDefault();
}

function step(map, dx, dy, pixels) {
  const [west, south, east, north] = map.data.extent;
  const { columns = 200, rows = 200 } = map.data; // a map of dots has no pixels
  const [x, y] = map.cursor ?? [map.view.x, map.view.y];
  const place = [
    Math.min(east, Math.max(west, x + (dx * pixels * (east - west)) / columns)),
    Math.min(north, Math.max(south, y + (dy * pixels * (north - south)) / rows)),
  ];
  map.point(place, ...map.view.toCanvas(...place));
}
