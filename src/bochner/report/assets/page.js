// The page: layers, threshold, legend and readout.

class Page {
  constructor(law) {
    this.law = law;
    this.layer = "mean";
    this.threshold = data.threshold.value;
    this.cursor = null;
    this.chosen = null;
    this.canvas = byId("map");
    this.view = new View(data, 600, 400);
    this.showObservations = Boolean(data.observations);
    this.scales = {
      mean: new Scale(data.ramps.mean, domainOf(law.response.mean, (i) => law.shows(i))),
      sd: new Scale(data.ramps.sd, domainOf(law.response.sd, (i) => law.shows(i))),
      exceedance: new Scale(data.ramps.exceedance, [0, 1]),
    };
    this.images = {};
    this.values = { mean: law.response.mean, sd: law.response.sd };
    this.exceed();
    this.listen();
    this.resize();
    this.choose("mean");
    drawForPrint(this);
  }

  // ------------------------------------------------------------------------------ state

  exceed() {
    this.values.exceedance = this.law.exceedance(this.threshold);
    delete this.images.exceedance;
  }

  image(layer) {
    this.images[layer] ??= this.scales[layer].paint(this.values[layer], data.columns, data.rows, this.law.cover);
    return this.images[layer];
  }

  choose(layer) {
    this.layer = layer;
    for (const button of document.querySelectorAll("[data-layer]")) {
      button.setAttribute("aria-pressed", String(button.dataset.layer === layer));
    }
    byId("layer-words").textContent = this.words(layer);
    this.legend();
    this.draw();
  }

  setThreshold(value) {
    if (!Number.isFinite(value)) return;
    this.threshold = value;
    byId("threshold").value = value;
    if (document.activeElement !== byId("threshold-number")) byId("threshold-number").value = data.share ? Number((100 * value).toPrecision(8)) : value;
    this.exceed();
    byId("layer-words").textContent = this.words(this.layer);
    this.areas();
    this.readout();
    this.draw();
  }

  words(layer) {
    const at = limitText(this.threshold);
    return {
      mean: `Predicted ${data.response} (mean)${data.unit ? `, in ${data.unit}` : ""}.`,
      sd: `Standard deviation of that mean${data.unit ? `, in ${data.unit}` : ""}.`,
      exceedance: `Probability that the ${data.response} lies above ${at}.`,
    }[layer];
  }

  // ---------------------------------------------------------------------------- drawing

  resize() {
    const frame = byId("map-frame"), width = frame.clientWidth;
    const [west, south, east, north] = data.extent;
    const shape = ((north - south) * this.view.aspect) / (east - west);
    const most = Math.max(380, Math.min(window.innerHeight - 365, 640));
    const height = Math.round(Math.max(230, Math.min(most, (width - 56) * shape + 52)));
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.height = `${height}px`;
    this.view.resize(width, height);
    frame.parentElement.style.setProperty("--map-left", `${this.view.margin.left}px`);
    frame.parentElement.style.setProperty("--map-right", `${this.view.margin.right}px`);
    this.view.hold();
    this.draw();
  }

  draw() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.drawNow();
    });
  }

  drawNow() {
    const ratio = window.devicePixelRatio || 1, context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.view.draw(context, this.image(this.layer), (c, v) => this.marks(c, v));
    this.canvas.style.touchAction = this.view.zoom > 1 ? "none" : "pan-y";
    byId("zoom-reset").disabled = this.view.zoom === 1;
  }

  marks(context, view) {
    drawAreas(context, view, this.chosen);
    if (this.showObservations) this.dots(context, view, this.layer);
    this.labels = drawNames(context, view);
    if (!this.cursor) return;
    const [px, py] = view.toCanvas(...this.cursor);
    for (const [width, colour] of [[3.5, "rgb(255 255 255 / 0.9)"], [1.5, INK]]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      context.arc(px, py, 7, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  dots(context, view, layer) {
    const { x, y, shade } = data.observations;
    const size = x.length > 1500 ? 2.2 : x.length > 500 ? 3 : 3.8;
    const radius = size * Math.min(1.6, Math.sqrt(view.zoom)) * Math.min(1, Math.max(0.6, view.width / 700));
    context.lineWidth = 0.8;
    for (let i = 0; i < x.length; i++) {
      const [px, py] = view.toCanvas(x[i], y[i]);
      context.beginPath();
      context.arc(px, py, radius, 0, 2 * Math.PI);
      context.fillStyle = this.dotColour(layer, shade[i]);
      context.strokeStyle = "rgb(20 28 34 / 0.75)";
      context.fill();
      context.stroke();
    }
  }

  dotColour(layer, value) {
    if (layer === "mean") return this.scales.mean.css(value);
    if (layer === "exceedance") return this.scales.exceedance.css(value > this.threshold ? 1 : 0);
    return "#ffffff";
  }

  legend() {
    const scale = this.scales[this.layer], [low, high] = scale.domain;
    byId("legend-bar").style.background = `linear-gradient(to right, ${scale.ramp.join(", ")})`;
    const at = ticks(low, high, 5), step = at.length > 1 ? at[1] - at[0] : 1;
    const labels = at.map((value) => {
      const label = document.createElement("span");
      label.style.left = `${100 * scale.position(value)}%`;
      label.textContent = tickText(this.layer, value, step);
      return label;
    });
    byId("legend-ticks").replaceChildren(...labels);
    byId("legend-title").textContent = this.legendTitle(this.layer);
    this.areas();
  }

  legendTitle(layer) {
    const unit = data.unit ? ` (${data.unit})` : "";
    const above = `probability above ${limitText(this.threshold)}`;
    return { mean: `${data.response}${unit}`, sd: `sd of ${data.response}${unit}`, exceedance: above }[layer];
  }

  // Shares of the mapped area; a pixel of a map in degrees counts as the cosine of its latitude.
  areas() {
    const p = this.values.exceedance, [, south, , north] = data.extent;
    let total = 0, expected = 0, likely = 0, unlikely = 0;
    for (let i = 0; i < p.length; i++) {
      if (!this.law.shows(i)) continue;
      const lat = north - ((Math.floor(i / data.columns) + 0.5) / data.rows) * (north - south);
      const area = data.geographic ? Math.cos((lat * Math.PI) / 180) : 1;
      total += area;
      expected += area * p[i];
      if (p[i] > 0.9) likely += area;
      if (p[i] < 0.1) unlikely += area;
    }
    byId("share-expected").textContent = percent(expected / total);
    byId("share-likely").textContent = percent(likely / total);
    byId("share-unlikely").textContent = percent(unlikely / total);
    byId("threshold-words").textContent = limitText(this.threshold);
    if (this.layer === "exceedance") byId("legend-title").textContent = this.legendTitle("exceedance");
  }

  // ------------------------------------------------------------------------------ hover

  // What the map says of a place: null beyond its edges, and where it is blank.
  valueAt(x, y) {
    const i = this.view.pixelAt(x, y);
    if (i < 0 || !this.law.shows(i)) return null;
    const { mean, sd } = this.law.response;
    return { mean: mean[i], sd: sd[i], interval: this.law.interval(i), exceedance: this.values.exceedance[i] };
  }

  point(place, px, py) {
    this.cursor = place;
    this.readout();
    this.tooltip(px, py);
    this.draw();
  }

  // An area, from the table or from the map: drawn in red, and in sight.
  chooseArea(i, zoom = false) {
    this.chosen = i >= 0 && i !== this.chosen ? i : null;
    showInTable(this.chosen);
    if (zoom && this.chosen !== null) {
      this.view.show(boundsOf(data.areas[i]));
      byId("map-section").scrollIntoView({ block: "start" });
    }
    this.draw();
  }

  leave() {
    this.cursor = null;
    byId("tooltip").hidden = true;
    this.readout();
    this.draw();
  }

  readout() {
    const found = this.cursor && this.valueAt(...this.cursor);
    const set = (id, text) => { byId(id).textContent = text; };
    set("read-place", this.cursor ? this.place(...this.cursor) : "point at the map");
    set("read-mean", found ? shown(found.mean) : "–");
    set("read-sd", found ? shown(found.sd) : "–");
    set("read-interval", found ? data.share ? `${shown(found.interval[0])} to ${shown(found.interval[1])}` : `${readable(found.interval[0])} to ${readable(found.interval[1])}` : "–");
    set("read-exceedance", found ? chance(found.exceedance) : "–");
    const marker = byId("legend-marker"), here = found && found[this.layer];
    marker.hidden = !found;
    if (found) marker.style.left = `${100 * this.scales[this.layer].position(here)}%`;
  }

  place(x, y) {
    const [west, south, east, north] = data.extent;
    const text = (value, span) => plainNumber(value, 10 ** Math.floor(Math.log10(span / 500)));
    return `${data.names[0]} ${text(wrapped(x), east - west)}, ${data.names[1]} ${text(y, north - south)}`;
  }

  tooltip(px, py) {
    const box = byId("tooltip"), found = this.valueAt(...this.cursor), seen = this.observationAt(px, py);
    const lines = [];
    if (found) {
      const { mean, sd, exceedance: p } = found;
      const above = `above ${limitText(this.threshold)}: ${chance(p)}`;
      lines.push({ mean: `mean ${shown(mean)}`, sd: `sd ${shown(sd)}`, exceedance: above }[this.layer]);
    }
    if (seen !== null) lines.push(`observed ${shown(seen)}`);
    if (seen !== null && found) lines.push(`predicted ${shown(found.mean)} (${shown(found.interval[0])} to ${shown(found.interval[1])})`);
    const area = areaAt(...this.cursor);
    if (area >= 0) lines.unshift(data.areas[area].name);
    if (!lines.length) lines.push("far from data");
    box.replaceChildren(...lines.map((line) => Object.assign(document.createElement("div"), { textContent: line })));
    box.hidden = false;
    const left = px + 14 + box.offsetWidth > this.view.width ? px - 14 - box.offsetWidth : px + 14;
    box.style.left = `${Math.max(0, left)}px`;
    box.style.top = `${Math.max(0, py - box.offsetHeight - 10)}px`;
  }

  observationAt(px, py) {
    if (!this.showObservations) return null;
    const { x, y, value } = data.observations;
    let best = 9 * 9, found = null;
    for (let i = 0; i < x.length; i++) {
      const [qx, qy] = this.view.toCanvas(x[i], y[i]), d = (qx - px) ** 2 + (qy - py) ** 2;
      if (d < best) [best, found] = [d, value[i]];
    }
    return found;
  }

  // ----------------------------------------------------------------------------- events

  listen() {
    for (const button of document.querySelectorAll("[data-layer]")) {
      button.addEventListener("click", () => this.choose(button.dataset.layer));
    }
    const slider = byId("threshold"), field = byId("threshold-number");
    slider.addEventListener("input", () => this.setThreshold(Number(slider.value)));
    field.addEventListener("input", () => this.setThreshold(field.valueAsNumber / (data.share ? 100 : 1)));
    byId("observations")?.addEventListener("change", (event) => {
      this.showObservations = event.target.checked;
      this.draw();
    });
    byId("zoom-in").addEventListener("click", () => this.zoomBy(1.6));
    byId("zoom-out").addEventListener("click", () => this.zoomBy(1 / 1.6));
    byId("zoom-reset").addEventListener("click", () => {
      this.view.reset();
      this.draw();
    });
    new ResizeObserver(() => this.resize()).observe(byId("map-frame"));
    window.addEventListener("beforeprint", () => drawForPrint(this));
    DARK.addEventListener("change", () => {
      theme(DARK.matches);
      this.draw();
    });
    this.canvas.addEventListener("click", (event) => {
      const box = this.canvas.getBoundingClientRect();
      const i = areaAt(...this.view.toWorld(event.clientX - box.left, event.clientY - box.top));
      if (i >= 0) this.chooseArea(i);
    });
    listenToTable(this);
    listenToDownloads(this);
    listenToPointer(this);
    this.canvas.addEventListener("keydown", (event) => key(this, event));
    this.canvas.addEventListener("blur", () => this.leave());
  }

  zoomBy(factor) {
    const { left, top } = this.view.margin, { width, height } = this.view.inner;
    this.view.zoomAt(left + width / 2, top + height / 2, factor);
    this.draw();
  }
}

async function start() {
  const count = data.rows * data.columns;
  const [mean, sd, cover] = await Promise.all(
    [data.mean, data.sd, data.cover].map((packed) => packed && unpack(packed, count)),
  );
  const page = new Page(new Law(data, mean, sd, cover));
  byId("map-loading").remove();
  document.documentElement.dataset.ready = "yes";
  // for the console, and for whoever wants the numbers
  window.bochner = {
    valueAt: (x, y) => page.valueAt(x, y),
    setThreshold: (value) => page.setThreshold(value),
    layer: () => page.layer,
    labels: () => page.labels,
    chosen: () => (page.chosen === null ? null : data.areas[page.chosen].name),
    zoomBy: (factor) => page.zoomBy(factor),
    moments: (eta, sdEta) => responseMoments(data.link, eta, sdEta, data.nodes, data.mass),
    exceedance: (eta, sdEta, threshold) => exceedance(data.link, eta, sdEta, threshold),
  };
}

start().catch((error) => {
  byId("map-loading").textContent =
    "The map could not be drawn: this browser cannot unpack it. Any current browser can (Chrome or Edge 103, Firefox 113, Safari 16.4, or newer).";
  console.error(error);
});
