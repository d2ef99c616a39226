// The view: which part of the world is on the canvas, and how it is drawn.

import { drawGraticule, drawOutlines } from "./areas.js";
import { plainNumber, ticks, wrapped } from "./scale.js";
import { FONT, theme } from "./theme.js";

export class View {
  constructor(data, width, height) {
    this.data = data;
    [this.west, this.south, this.east, this.north] = data.extent;
    // how much longer a unit northwards is than one eastwards
    this.aspect = data.km ? data.km[1] / data.km[0] : 1;
    this.resize(width, height);
    this.reset();
  }

  resize(width, height) {
    this.width = width;
    this.height = height;
    const small = width < 520;
    const labels = ticks(this.south, this.north, 5), step = labels.length > 1 ? labels[1] - labels[0] : 1;
    const longest = Math.max(...labels.map((value) => plainNumber(value, step).length));
    const left = (small ? 26 : 32) + 6.2 * longest;
    this.margin = { left, right: small ? 8 : 12, top: 10, bottom: small ? 40 : 44 };
    this.inner = {
      width: width - this.margin.left - this.margin.right,
      height: height - this.margin.top - this.margin.bottom,
    };
    const fitX = this.inner.width / (this.east - this.west);
    const fitY = this.inner.height / ((this.north - this.south) * this.aspect);
    this.fit = Math.min(fitX, fitY);
  }

  reset() {
    this.x = (this.west + this.east) / 2;
    this.y = (this.south + this.north) / 2;
    this.zoom = 1;
  }

  get scale() {
    return this.fit * this.zoom;
  }

  toCanvas(x, y) {
    return [
      this.margin.left + this.inner.width / 2 + (x - this.x) * this.scale,
      this.margin.top + this.inner.height / 2 - (y - this.y) * this.scale * this.aspect,
    ];
  }

  toWorld(px, py) {
    return [
      this.x + (px - this.margin.left - this.inner.width / 2) / this.scale,
      this.y - (py - this.margin.top - this.inner.height / 2) / (this.scale * this.aspect),
    ];
  }

  // Zoom by a factor so that the place under (px, py) stays there.
  zoomAt(px, py, factor) {
    const [x, y] = this.toWorld(px, py);
    const zoom = Math.min(40, Math.max(1, this.zoom * factor));
    const ratio = this.zoom / zoom;
    this.zoom = zoom;
    this.x = x + (this.x - x) * ratio;
    this.y = y + (this.y - y) * ratio;
    this.hold();
  }

  // Zoom to a box, with room around it.
  show([west, south, east, north]) {
    const fit = Math.min(this.inner.width / (east - west), this.inner.height / ((north - south) * this.aspect));
    this.zoom = Math.min(40, Math.max(1, (0.5 * fit) / this.fit));
    this.x = (west + east) / 2;
    this.y = (south + north) / 2;
    this.hold();
  }

  pan(dx, dy) {
    this.x -= dx / this.scale;
    this.y += dy / (this.scale * this.aspect);
    this.hold();
  }

  // Keep the map in sight: the centre stays within what can be shown.
  hold() {
    const roomX = Math.max(0, (this.east - this.west - this.inner.width / this.scale) / 2);
    const roomY = Math.max(0, (this.north - this.south - this.inner.height / (this.scale * this.aspect)) / 2);
    const middleX = (this.west + this.east) / 2, middleY = (this.south + this.north) / 2;
    this.x = Math.min(middleX + roomX, Math.max(middleX - roomX, this.x));
    this.y = Math.min(middleY + roomY, Math.max(middleY - roomY, this.y));
  }

  // Number of the pixel at a place, or -1 outside the map.
  pixelAt(x, y) {
    const column = Math.floor(((x - this.west) / (this.east - this.west)) * this.data.columns);
    const row = Math.floor(((this.north - y) / (this.north - this.south)) * this.data.rows);
    const inside = column >= 0 && column < this.data.columns && row >= 0 && row < this.data.rows;
    return inside ? row * this.data.columns + column : -1;
  }

  draw(context, image, marks, quality = "high") {
    const { left, top } = this.margin, { width, height } = this.inner;
    context.clearRect(0, 0, this.width, this.height);
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    context.fillStyle = theme.paper;
    context.fillRect(left, top, width, height);
    drawGraticule(context, this);
    const [x0, y0] = this.toCanvas(this.west, this.north), [x1, y1] = this.toCanvas(this.east, this.south);
    context.imageSmoothingEnabled = true;
    context.imageSmoothingQuality = quality;
    if (image) context.drawImage(image, x0, y0, x1 - x0, y1 - y0);
    drawOutlines(context, this);
    if (marks) marks(context, this);
    this.drawScaleBar(context);
    context.restore();
    this.drawAxes(context);
  }

  drawAxes(context) {
    const { left, top } = this.margin, { width, height } = this.inner, small = this.width < 520;
    const [west, north] = this.toWorld(left, top), [east, south] = this.toWorld(left + width, top + height);
    context.strokeStyle = "#9aa6af";
    context.lineWidth = 1;
    context.strokeRect(left + 0.5, top + 0.5, width - 1, height - 1);
    context.fillStyle = theme.faint;
    context.font = `${small ? 11 : 12}px ${FONT}`;
    context.textAlign = "center";
    context.textBaseline = "top";
    const along = ticks(west, east, Math.max(4, width / 100)), stepX = along.length > 1 ? along[1] - along[0] : 1;
    for (const x of along) {
      const [px] = this.toCanvas(x, 0);
      context.fillRect(Math.round(px), top + height, 1, 4);
      context.fillText(plainNumber(wrapped(x, this.data), stepX), px, top + height + 7);
    }
    context.textAlign = "right";
    context.textBaseline = "middle";
    const up = ticks(south, north, Math.max(4, height / 80)), stepY = up.length > 1 ? up[1] - up[0] : 1;
    for (const y of up) {
      const [, py] = this.toCanvas(0, y);
      context.fillRect(left - 4, Math.round(py), 4, 1);
      context.fillText(plainNumber(y, stepY), left - 7, py);
    }
    context.fillStyle = theme.ink;
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.fillText(this.data.names[0], left + width / 2, this.height - 1);
    context.save();
    context.translate(small ? 9 : 11, top + height / 2);
    context.rotate(-Math.PI / 2);
    context.textBaseline = "middle";
    context.fillText(this.data.names[1], 0, 0);
    context.restore();
  }

  // A round length, at most a quarter of the map's width; in km where they are known.
  drawScaleBar(context) {
    const perPixel = (this.data.km ? this.data.km[0] : 1) / this.scale;
    const most = 0.25 * this.inner.width * perPixel;
    const power = 10 ** Math.floor(Math.log10(most));
    const length = [5, 2, 1].map((k) => k * power).find((l) => l <= most);
    const pixels = length / perPixel;
    const right = this.margin.left + this.inner.width - 12, base = this.margin.top + this.inner.height - 12;
    const label = `${plainNumber(length, Math.min(length, 1))} ${this.data.lengthUnit}`;
    context.font = `600 12px ${FONT}`;
    const box = Math.max(pixels, context.measureText(label).width) + 14;
    context.fillStyle = theme.plate;
    context.fillRect(right - box + 7, base - 22, box, 29);
    context.strokeStyle = context.fillStyle = theme.ink;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(right - pixels, base - 5);
    context.lineTo(right - pixels, base);
    context.lineTo(right, base);
    context.lineTo(right, base - 5);
    context.stroke();
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.fillText(label, right - pixels / 2, base - 5);
  }
}
