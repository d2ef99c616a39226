// A map on a canvas: it pans and zooms, and tells its scene where the pointer is.

import { button, el } from "./dom.js";
import { key, listenToPointer } from "./gestures.js";
import { DARK, theme } from "./theme.js";
import { View } from "./view.js";

const LABEL = "Arrow keys move the pointer, plus and minus zoom, 0 shows all of it.";

// Canvas, tooltip and zoom buttons; `prefix` keeps ids apart where a page has several maps.
export function mapFrame(prefix = "", label = "Map") {
  return el("div", { id: `${prefix}map-frame`, class: "map-frame" },
    el("canvas", { id: `${prefix}map`, tabindex: 0, role: "application", "aria-label": `${label}. ${LABEL}` }),
    el("div", { id: `${prefix}tooltip`, class: "tooltip", hidden: true }),
    el("div", { class: "zoom" },
      button("+", { id: `${prefix}zoom-in`, "aria-label": "Zoom in" }),
      button("−", { id: `${prefix}zoom-out`, "aria-label": "Zoom out" }),
      button("⤢", { id: `${prefix}zoom-reset`, "aria-label": "Show the whole map", disabled: true })));
}

// A scene has `image()`, a canvas or null; `marks(context, view)`; `lines(place, px, py)` for the tooltip; and, where it
// wants to know, `pointed(place or null)` and `clicked(place)`.
export class MapCanvas {
  constructor(frame, data, scene, most = null) {
    Object.assign(this, { frame, data, scene, most });
    this.canvas = frame.querySelector("canvas");
    this.box = frame.querySelector(".tooltip");
    [this.zoomIn, this.zoomOut, this.zoomReset] = frame.querySelectorAll(".zoom button");
    this.cursor = null;
    this.life = new AbortController();
    this.view = new View(data, 600, 400);
    this.listen();
    this.resize();
  }

  resize() {
    const width = this.frame.clientWidth;
    if (!width) return;
    const [west, south, east, north] = this.data.extent;
    const shape = ((north - south) * this.view.aspect) / (east - west);
    const most = this.most ?? Math.max(380, Math.min(window.innerHeight - 365, 640));
    const height = Math.round(Math.max(230, Math.min(most, (width - 56) * shape + 52)));
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.height = `${height}px`;
    this.view.resize(width, height);
    const around = this.frame.parentElement;
    around?.style.setProperty("--map-left", `${this.view.margin.left}px`);
    around?.style.setProperty("--map-right", `${this.view.margin.right}px`);
    this.view.hold();
    if (this.cursor) this.tooltip(...this.view.toCanvas(...this.cursor)); // where it was, it may lie outside now
    this.draw();
  }

  draw() {
    this.pending ||= requestAnimationFrame(() => {
      this.pending = 0;
      this.drawNow();
    });
  }

  drawNow() {
    const ratio = window.devicePixelRatio || 1, context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.view.draw(context, this.scene.image(), (c, v) => this.marks(c, v), this.scene.hasty?.() ? "low" : "high");
    this.canvas.style.touchAction = this.view.zoom > 1 ? "none" : "pan-y";
    this.zoomReset.disabled = this.view.zoom === 1;
  }

  marks(context, view) {
    this.scene.marks(context, view);
    if (!this.cursor) return;
    const [px, py] = view.toCanvas(...this.cursor);
    for (const [width, colour] of [[3.5, "rgb(255 255 255 / 0.9)"], [1.5, theme.ink]]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      context.arc(px, py, 7, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  point(place, px, py) {
    this.cursor = place;
    this.scene.pointed?.(place);
    this.tooltip(px, py);
    this.draw();
  }

  leave() {
    this.cursor = null;
    this.box.hidden = true;
    this.scene.pointed?.(null);
    this.draw();
  }

  tooltip(px, py) {
    const lines = this.scene.lines(this.cursor, px, py);
    this.box.replaceChildren(...lines.map((line) => el("div", {}, line)));
    this.box.hidden = !lines.length;
    const left = px + 14 + this.box.offsetWidth > this.view.width ? px - 14 - this.box.offsetWidth : px + 14;
    this.box.style.left = `${Math.max(0, left)}px`;
    this.box.style.top = `${Math.max(0, py - this.box.offsetHeight - 10)}px`;
  }

  zoomBy(factor) {
    const { left, top } = this.view.margin, { width, height } = this.view.inner;
    this.view.zoomAt(left + width / 2, top + height / 2, factor);
    this.draw();
  }

  reset() {
    this.view.reset();
    this.draw();
  }

  // A map that leaves its page lets go of what it listens to, and so of its rasters.
  end() {
    this.life.abort();
    this.observer.disconnect();
    cancelAnimationFrame(this.pending);
  }

  listen() {
    this.zoomIn.addEventListener("click", () => this.zoomBy(1.6));
    this.zoomOut.addEventListener("click", () => this.zoomBy(1 / 1.6));
    this.zoomReset.addEventListener("click", () => this.reset());
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.frame);
    DARK.addEventListener("change", () => this.draw(), { signal: this.life.signal });
    listenToPointer(this);
    this.canvas.addEventListener("click", (event) => {
      const box = this.canvas.getBoundingClientRect();
      this.scene.clicked?.(this.view.toWorld(event.clientX - box.left, event.clientY - box.top));
    });
    this.canvas.addEventListener("keydown", (event) => key(this, event));
    this.canvas.addEventListener("blur", () => this.leave());
  }
}

// Dots at places; `colourOf(i)` fills them.
export function drawDots(context, view, { x, y }, colourOf) {
  const size = x.length > 1500 ? 2.2 : x.length > 500 ? 3 : 3.8;
  const radius = size * Math.min(1.6, Math.sqrt(view.zoom)) * Math.min(1, Math.max(0.6, view.width / 700));
  context.lineWidth = 0.8;
  context.strokeStyle = "rgb(20 28 34 / 0.75)";
  for (let i = 0; i < x.length; i++) {
    const [px, py] = view.toCanvas(x[i], y[i]);
    context.beginPath();
    context.arc(px, py, radius, 0, 2 * Math.PI);
    context.fillStyle = colourOf(i);
    context.fill();
    context.stroke();
  }
}

// Number of the dot under the pointer, or -1.
export function dotAt(view, { x, y }, px, py) {
  let best = 9 * 9, found = -1;
  for (let i = 0; i < x.length; i++) {
    const [qx, qy] = view.toCanvas(x[i], y[i]), d = (qx - px) ** 2 + (qy - py) ** 2;
    if (d < best) [best, found] = [d, i];
  }
  return found;
}
