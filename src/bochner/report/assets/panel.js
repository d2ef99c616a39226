// The map panel: layers, threshold, legend and readout around the map of a law.

import { areaAt, boundsOf, drawAreas, drawNames } from "./areas.js";
import { colourBar, markScale, showScale } from "./colourbar.js";
import { button, el } from "./dom.js";
import { geotiff } from "./geotiff.js";
import { everySecond, Law, normalCdf } from "./law.js";
import { dotAt, drawDots, MapCanvas, mapFrame } from "./mapcanvas.js";
import { picture, save, svgPicture } from "./pictures.js";
import { unpack } from "./raster.js";
import { chance, domainOf, limitText, percent, plainNumber, readable, Scale, shown, tickText, wrapped } from "./scale.js";
import { Surface } from "./surface.js";

const LAYERS = { mean: "Mean", sd: "Uncertainty", exceedance: "Exceedance" };
const LARGE = 400_000; // pixels from which a threshold is drawn coarsely while it moves
const COUNTED = 100; // ms between two counts of its pixels meanwhile
const SETTLED = 140; // ms after which it stands still
const SCORES = 5; // sd on either side that colours of probabilities tell apart

// Everything of a payload, unpacked.
export async function lawOf(data) {
  const count = data.rows * data.columns;
  const [mean, sd, cover] = await Promise.all(
    [data.mean, data.sd, data.cover].map((packed) => packed && unpack(packed, count)),
  );
  return new Law(data, mean, sd, cover);
}

export class MapPanel {
  // `hooks`: onThreshold(value), onArea(number or null), onPlace(place): called after the panel has changed itself;
  // `dots`: whether observations are shown at first.
  constructor(root, data, law, { title = document.title, hooks = {}, dots = true } = {}) {
    Object.assign(this, { root, data, law, title, hooks, layer: "mean", threshold: data.threshold.value, chosen: null });
    this.showObservations = dots && Boolean(data.observations);
    this.surface = new Surface(data.columns, data.rows, law.mean, law.cover);
    this.scales = {
      mean: new Scale(data.ramps.mean, domainOf(law.response.mean, (i) => law.shows(i))),
      sd: new Scale(data.ramps.sd, domainOf(law.response.sd, (i) => law.shows(i))),
      exceedance: new Scale(data.ramps.exceedance, [0, 1]),
    };
    this.images = {};
    this.build();
    this.map = new MapCanvas(this.frame, data, {
      image: () => this.image(this.layer),
      hasty: () => this.moving,
      marks: (context, view) => this.marks(context, view),
      lines: (place, px, py) => this.lines(place, px, py),
      pointed: () => this.readout(),
      clicked: (place) => this.click(place),
    });
    this.choose("mean");
    this.shares();
  }

  part(name) {
    return this.root.querySelector(`#${name}`);
  }

  // ---------------------------------------------------------------------------- elements

  build() {
    this.frame = mapFrame();
    this.bar = colourBar();
    const segments = Object.entries(LAYERS).map(([layer, text]) =>
      button(text, { "data-layer": layer, "aria-pressed": "false", onclick: () => this.choose(layer) }));
    this.root.replaceChildren(
      el("div", { class: "map-main" },
        el("div", { class: "map-head" },
          el("div", { class: "segments", role: "group", "aria-label": "Layer of the map" }, segments),
          el("p", { id: "layer-words", class: "words", "aria-live": "polite" })),
        this.frame, this.bar),
      el("aside", { class: "map-side", "aria-label": "Threshold and values of the map" },
        this.thresholdPart(), this.readoutPart(), this.observationsPart(), this.downloadsPart()));
  }

  thresholdPart() {
    const { low, high, step, value } = this.data.threshold, unit = this.data.share ? "%" : this.data.unit;
    const row = (words, id) => el("div", {}, el("dt", {}, ...words), el("dd", { id }, "–"));
    return el("section", { "aria-labelledby": "threshold-title" },
      el("h3", { id: "threshold-title" }, "Threshold"),
      el("div", { class: "threshold" },
        el("input", { type: "range", id: "threshold", "aria-label": "Threshold", min: low, max: high, step, value,
          oninput: (event) => this.setThreshold(Number(event.target.value)) }),
        el("span", { class: "field" },
          el("input", { type: "number", id: "threshold-number", "aria-label": "Threshold, as a number", step: "any", value: this.asTyped(value),
            oninput: (event) => this.setThreshold(event.target.valueAsNumber / (this.data.share ? 100 : 1)) }),
          unit && el("span", {}, unit))),
      el("dl", { class: "rows" },
        row(["Area above ", el("span", { id: "threshold-words" }), ", expected"], "share-expected"),
        row(["Very likely above (over 90\u202f%)"], "share-likely"),
        row(["Very unlikely (under 10\u202f%)"], "share-unlikely")));
  }

  readoutPart() {
    const row = (words, id) => el("div", {}, el("dt", {}, words), el("dd", { id }, "–"));
    return el("section", { "aria-labelledby": "readout-title" },
      el("h3", { id: "readout-title" }, "At a place"),
      el("dl", { class: "rows", "aria-live": "polite" },
        el("div", { class: "place" }, el("dt", { class: "hide" }, "Place"), el("dd", { id: "read-place" }, "point at the map")),
        row("Mean", "read-mean"), row("Standard deviation", "read-sd"), row("95\u202f% interval", "read-interval"),
        row("Probability above threshold", "read-exceedance")));
  }

  observationsPart() {
    if (!this.data.observations) return null;
    const { x, total = x.length } = this.data.observations, n = x.length;
    return el("label", { class: "check" },
      el("input", { type: "checkbox", id: "observations", checked: this.showObservations, onchange: (event) => {
        this.showObservations = event.target.checked;
        this.map.draw();
      } }), ` Show observations (${n}${n === total ? "" : ` of ${total}`})`);
  }

  downloadsPart() {
    const slug = this.title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "map";
    return el("div", { class: "downloads", role: "group", "aria-label": "Downloads of this view" },
      button("PNG", { id: "save-png", onclick: () => picture(this).toBlob((blob) => save(`${slug}.png`, "image/png", blob)) }),
      button("SVG", { id: "save-svg", onclick: () => save(`${slug}.svg`, "image/svg+xml", svgPicture(this)) }),
      this.data.epsg?.code !== 0 && button("GeoTIFF", { id: "save-tif", title: "Mean, uncertainty and exceedance of the threshold, for a GIS",
        onclick: () => save(`${slug}.tif`, "image/tiff", geotiff(this.data, this.law, this.threshold)) }),
      this.data.csv && button(`CSV of ${this.data.noun || "areas"}`, { id: "save-csv", onclick: () => save(`${slug}-areas.csv`, "text/csv", this.data.csv) }));
  }

  // ------------------------------------------------------------------------------ state

  asTyped(value) {
    return this.data.share ? Number((100 * value).toPrecision(8)) : value;
  }

  choose(layer) {
    this.layer = layer;
    for (const one of this.root.querySelectorAll("[data-layer]")) one.setAttribute("aria-pressed", String(one.dataset.layer === layer));
    this.part("layer-words").textContent = this.words(layer);
    showScale(this.bar, this.scales[layer], this.legendTitle(layer), (value, step) => tickText(layer, value, step, this.data));
    this.readout();
    this.map.draw();
  }

  setThreshold(value) {
    if (!Number.isFinite(value)) return;
    this.threshold = value;
    this.part("threshold").value = value;
    const field = this.part("threshold-number");
    if (document.activeElement !== field) field.value = this.asTyped(value);
    this.stale = true;
    this.moving = this.law.length > LARGE;
    if (this.moving) this.settleSoon();
    this.part("layer-words").textContent = this.words(this.layer);
    if (!this.moving || performance.now() > this.counted + COUNTED) this.shares();
    this.readout();
    this.map.draw();
    this.hooks.onThreshold?.(value);
  }

  // In full once the slider stands still.
  settleSoon() {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => {
      this.moving = false;
      this.stale = true;
      this.shares();
      this.map.draw();
    }, SETTLED);
  }

  words(layer) {
    const { response, unit, areas } = this.data;
    const hatched = areas.some((area) => area.no_data) ? " Hatched areas have no data nearby." : "";
    return {
      mean: `Predicted ${response} (mean)${unit ? `, in ${unit}` : ""}.`,
      sd: `Standard deviation of that mean${unit ? `, in ${unit}` : ""}.`,
      exceedance: `Probability that the ${response} lies above ${limitText(this.threshold, this.data)}.`,
    }[layer] + hatched;
  }

  legendTitle(layer) {
    const { response, unit } = this.data, behind = unit ? ` (${unit})` : "";
    const above = `probability above ${limitText(this.threshold, this.data)}`;
    return { mean: `${response}${behind}`, sd: `sd of ${response}${behind}`, exceedance: above }[layer];
  }

  // Shares of the mapped area.
  shares() {
    this.counted = performance.now();
    const { expected, likely, unlikely } = this.law.shares(this.threshold, this.moving);
    this.part("share-expected").textContent = percent(expected);
    this.part("share-likely").textContent = percent(likely);
    this.part("share-unlikely").textContent = percent(unlikely);
    this.part("threshold-words").textContent = limitText(this.threshold, this.data);
    if (this.layer === "exceedance") this.part("legend-title").textContent = this.legendTitle("exceedance");
  }

  // ---------------------------------------------------------------------------- drawing

  image(layer) {
    if (layer === "exceedance" && this.moving) return this.quickImage();
    const known = this.images[layer];
    if (known && !(layer === "exceedance" && this.stale)) return known;
    const canvas = (this.images[layer] ??= this.surface.blank()), scale = this.scales[layer];
    if (layer === "exceedance") this.paintExceedance(canvas, scale);
    else this.surface.paint(canvas, this.surface.refine(this.law.response[layer]), ...scale.domain, scale.table(1024));
    return canvas;
  }

  paintExceedance(canvas, scale) {
    const { offset, slope } = this.law.standard;
    this.fine ??= { offset: this.surface.refine(offset), slope: this.surface.refine(slope) };
    this.paintScores(canvas, this.surface, this.fine, scale);
    this.stale = false;
  }

  paintScores(canvas, surface, { offset, slope }, scale) {
    this.table ??= scale.table(2048, (share) => normalCdf((2 * share - 1) * SCORES));
    surface.paintScore(canvas, offset, slope, this.law.shift(this.threshold), SCORES, this.table);
  }

  // A quarter of the pixels, as they are while the slider moves.
  quickImage() {
    const { thinned, cover, mean } = this.law, { columns, rows } = this.data;
    this.quick ??= new Surface(thinned.columns, thinned.rows, everySecond(mean, columns, rows), cover && everySecond(cover, columns, rows), 1);
    this.quickCanvas ??= this.quick.blank();
    this.paintScores(this.quickCanvas, this.quick, thinned, this.scales.exceedance);
    return this.quickCanvas;
  }

  marks(context, view) {
    drawAreas(context, view, this.chosen);
    if (this.showObservations) this.dots(context, view, this.layer);
    this.labels = drawNames(context, view);
  }

  dots(context, view, layer) {
    const { shade } = this.data.observations;
    drawDots(context, view, this.data.observations, (i) => this.dotColour(layer, shade[i]));
  }

  dotColour(layer, value) {
    if (layer === "mean") return this.scales.mean.css(value);
    if (layer === "exceedance") return this.scales.exceedance.css(value > this.threshold ? 1 : 0);
    return "#ffffff";
  }

  // ------------------------------------------------------------------------------ hover

  // What the map says of a place: null beyond its edges, and where it is blank.
  valueAt(x, y) {
    const i = this.map.view.pixelAt(x, y);
    return i < 0 || !this.law.shows(i) ? null : this.law.at(i, this.threshold);
  }

  click(place) {
    const i = areaAt(this.data.areas, ...place);
    if (i >= 0) this.chooseArea(i);
    this.hooks.onPlace?.(place);
  }

  // An area, from a table or from the map: drawn in red, and in sight.
  chooseArea(i, zoom = false) {
    this.chosen = i >= 0 && i !== this.chosen ? i : null;
    if (zoom && this.chosen !== null) this.map.view.show(boundsOf(this.data.areas[i]));
    this.hooks.onArea?.(this.chosen);
    this.map.draw();
  }

  readout() {
    const cursor = this.map?.cursor, found = cursor && this.valueAt(...cursor), { data } = this;
    const set = (id, text) => { this.part(id).textContent = text; };
    const [low, high] = found ? found.interval : [];
    set("read-place", cursor ? this.place(...cursor) : "point at the map");
    set("read-mean", found ? shown(found.mean, data) : "–");
    set("read-sd", found ? shown(found.sd, data) : "–");
    set("read-interval", found ? data.share ? `${shown(low, data)} to ${shown(high, data)}` : `${readable(low)} to ${readable(high)}` : "–");
    set("read-exceedance", found ? chance(found.exceedance) : "–");
    markScale(this.bar, this.scales[this.layer], found ? found[this.layer] : null);
  }

  place(x, y) {
    const { extent: [west, south, east, north], names } = this.data;
    const text = (value, span) => plainNumber(value, 10 ** Math.floor(Math.log10(span / 500)));
    return `${names[0]} ${text(wrapped(x, this.data), east - west)}, ${names[1]} ${text(y, north - south)}`;
  }

  lines(place, px, py) {
    const { data } = this, found = this.valueAt(...place), lines = [];
    const i = this.showObservations ? dotAt(this.map.view, data.observations, px, py) : -1;
    if (found) {
      const above = `above ${limitText(this.threshold, data)}: ${chance(found.exceedance)}`;
      lines.push({ mean: `mean ${shown(found.mean, data)}`, sd: `sd ${shown(found.sd, data)}`, exceedance: above }[this.layer]);
    }
    if (i >= 0) lines.push(`observed ${shown(data.observations.value[i], data)}`);
    if (i >= 0 && found) lines.push(`predicted ${shown(found.mean, data)} (${found.interval.map((v) => shown(v, data)).join(" to ")})`);
    const area = areaAt(data.areas, ...place);
    if (area >= 0) lines.unshift(`${data.areas[area].name}${data.areas[area].no_data ? ": no data, only the trend and the prior" : ""}`);
    return lines.length ? lines : ["far from data"];
  }
}
