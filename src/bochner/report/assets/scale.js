// Scales: round ticks, short numbers, colours.

function ticks(low, high, about) {
  const rough = (high - low) / about;
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((s) => s >= rough * (1 - 1e-9));
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) out.push(k * step);
  return out;
}

// As many digits as tell neighbours apart, e.g. ticks that are `step` apart.
function plainNumber(value, step) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.max(Math.abs(value), Math.abs(step));
  if (size >= 1e7 || size < 1e-4) return value === 0 ? "0" : value.toPrecision(3).replace("-", "−");
  const digits = Math.min(Math.max(0, Math.ceil(-Math.log10(step) - 1e-9) + (isQuarter(step) ? 1 : 0)), 8);
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");
}

function isQuarter(step) {
  const lead = step / 10 ** Math.floor(Math.log10(step) + 1e-9);
  return Math.abs(lead - 2.5) < 1e-6;
}

// A longitude between -180 and 180, as it is written on maps; other coordinates as they are.
function wrapped(x) {
  if (!data.geographic || Math.abs(x) <= 180) return x;
  return ((((x + 180) % 360) + 360) % 360) - 180;
}

// A value to four digits or so.
function readable(value) {
  if (value === 0 || !Number.isFinite(value)) return plainNumber(value, 1);
  return plainNumber(value, 10 ** (Math.floor(Math.log10(Math.abs(value))) - 3));
}

// A number with the digits that it was given.
function exact(value) {
  return value.toLocaleString("en", { maximumSignificantDigits: 12 }).replace("-", "−");
}

function percent(share) {
  return `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)}\u202f%`;
}

// A value of the map with its unit; shares in per cent.
function shown(value) {
  if (!Number.isFinite(value)) return "–";
  if (!data.share) return data.unit ? `${readable(value)} ${data.unit}` : readable(value);
  return `${plainNumber(100 * value, value >= 0.1 ? 0.1 : 0.01)}\u202f%`;
}

// A threshold with the digits that it was given.
function limitText(value) {
  if (data.share) return `${exact(Number((100 * value).toPrecision(10)))}\u202f%`;
  return data.unit ? `${exact(value)} ${data.unit}` : exact(value);
}

// Beside a colour bar: probabilities and shares in per cent.
function tickText(layer, value, step) {
  if (layer === "exceedance") return `${Math.round(100 * value)} %`;
  return data.share ? `${plainNumber(100 * value, 100 * step)} %` : plainNumber(value, step);
}

// A probability: never quite 0 or 1.
function chance(p) {
  if (p < 0.001) return "<0.1\u202f%";
  if (p > 0.999) return ">99.9\u202f%";
  return percent(p);
}

// 256 colours from the ramp's few.
function palette(ramp) {
  const rgb = ramp.map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  const out = new Uint8ClampedArray(256 * 3);
  for (let i = 0; i < 256; i++) {
    const at = (i / 255) * (rgb.length - 1), k = Math.min(Math.floor(at), rgb.length - 2), t = at - k;
    for (let c = 0; c < 3; c++) out[3 * i + c] = (1 - t) * rgb[k][c] + t * rgb[k + 1][c];
  }
  return out;
}

// Range of the values that are there, less the outermost half per cent on either side.
function domainOf(values, shown) {
  const sorted = values.filter((v, i) => shown(i) && Number.isFinite(v)).sort();
  const at = (q) => sorted[Math.min(sorted.length - 1, Math.max(0, Math.round(q * (sorted.length - 1))))];
  const low = at(0.005), high = at(0.995);
  return high > low ? [low, high] : [low - 0.5 * Math.abs(low || 1), high + 0.5 * Math.abs(high || 1)];
}

// How to colour one layer: values to a position between 0 and 1, and that to a colour.
class Scale {
  constructor(ramp, domain) {
    this.ramp = ramp;
    this.domain = domain;
    this.colours = palette(ramp);
  }

  position(value) {
    const [low, high] = this.domain;
    return Math.min(1, Math.max(0, (value - low) / (high - low)));
  }

  css(value) {
    const k = 3 * Math.round(255 * this.position(value)), c = this.colours;
    return `rgb(${c[k]} ${c[k + 1]} ${c[k + 2]})`;
  }

  // An image of a raster, finer than its pixels: values and outline are interpolated between their centres.
  paint(values, columns, rows, cover) {
    const fine = Math.max(1, Math.min(4, Math.round(700 / Math.max(columns, rows))));
    const canvas = document.createElement("canvas");
    canvas.width = fine * columns;
    canvas.height = fine * rows;
    const context = canvas.getContext("2d"), image = context.createImageData(canvas.width, canvas.height);
    const across = neighbours(columns, fine), down = neighbours(rows, fine);
    for (let r = 0, at = 0; r < canvas.height; r++) {
      const top = down.first[r] * columns, low = down.second[r] * columns, v = down.share[r];
      for (let c = 0; c < canvas.width; c++, at += 4) {
        const i = across.first[c], j = across.second[c], u = across.share[c];
        let sum = 0, weight = 0, inside = 0;
        for (const [k, w] of [
          [top + i, (1 - u) * (1 - v)], [top + j, u * (1 - v)], [low + i, (1 - u) * v], [low + j, u * v],
        ]) {
          if (cover) inside += w * cover[k];
          if (values[k] === values[k]) { // not NaN
            sum += w * values[k];
            weight += w;
          }
        }
        const edge = cover ? inside - 0.5 : weight - 0.5;
        if (weight < 0.05 || edge < -0.02) continue;
        const k = 3 * Math.round(255 * this.position(sum / weight));
        image.data[at] = this.colours[k];
        image.data[at + 1] = this.colours[k + 1];
        image.data[at + 2] = this.colours[k + 2];
        image.data[at + 3] = 255 * Math.min(1, (edge + 0.02) / 0.04);
      }
    }
    context.putImageData(image, 0, 0);
    return canvas;
  }
}

// For every fine pixel along a side: the two coarse ones around its centre, and the share of the second.
function neighbours(count, fine) {
  const first = new Int32Array(count * fine), second = new Int32Array(count * fine), share = new Float64Array(count * fine);
  for (let k = 0; k < count * fine; k++) {
    const at = Math.min(count - 1, Math.max(0, (k + 0.5) / fine - 0.5));
    first[k] = Math.floor(at);
    second[k] = Math.min(count - 1, first[k] + 1);
    share[k] = at - first[k];
  }
  return { first, second, share };
}
