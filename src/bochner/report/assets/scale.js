// Scales: round ticks, short numbers, colours.

export function ticks(low, high, about) {
  const rough = (high - low) / about;
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((s) => s >= rough * (1 - 1e-9));
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) out.push(k * step + 0); // -0 is 0
  return out;
}

// As many digits as tell neighbours apart, e.g. ticks that are `step` apart.
export function plainNumber(value, step) {
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
export function wrapped(x, data) {
  if (!data.geographic || Math.abs(x) <= 180) return x;
  return ((((x + 180) % 360) + 360) % 360) - 180;
}

// A value to four digits or so.
export function readable(value) {
  if (value === 0 || !Number.isFinite(value)) return plainNumber(value, 1);
  return plainNumber(value, 10 ** (Math.floor(Math.log10(Math.abs(value))) - 3));
}

// A number with the digits that it was given.
export function exact(value) {
  return value.toLocaleString("en", { maximumSignificantDigits: 12 }).replace("-", "−");
}

export function percent(share) {
  return `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)}\u202f%`;
}

// A value of the map with its unit; shares in per cent.
export function shown(value, data) {
  if (!Number.isFinite(value)) return "–";
  if (!data.share) return data.unit ? `${readable(value)} ${data.unit}` : readable(value);
  return `${plainNumber(100 * value, value >= 0.1 ? 0.1 : 0.01)}\u202f%`;
}

// A threshold with the digits that it was given.
export function limitText(value, data) {
  if (data.share) return `${exact(Number((100 * value).toPrecision(10)))}\u202f%`;
  return data.unit ? `${exact(value)} ${data.unit}` : exact(value);
}

// Beside a colour bar: probabilities and shares in per cent.
export function tickText(layer, value, step, data) {
  if (layer === "exceedance") return `${Math.round(100 * value)} %`;
  return data.share ? `${plainNumber(100 * value, 100 * step)} %` : plainNumber(value, step);
}

// A probability: never quite 0 or 1.
export function chance(p) {
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
export function domainOf(values, shown) {
  const stride = Math.ceil(values.length / 200_000); // quantiles of a part of a large map
  const sorted = values.filter((v, i) => i % stride === 0 && shown(i) && Number.isFinite(v)).sort();
  const at = (q) => sorted[Math.min(sorted.length - 1, Math.max(0, Math.round(q * (sorted.length - 1))))];
  const low = at(0.005), high = at(0.995);
  return high > low ? [low, high] : [low - 0.5 * Math.abs(low || 1), high + 0.5 * Math.abs(high || 1)];
}

// How to colour one layer: values to a position between 0 and 1, and that to a colour.
export class Scale {
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

  // As 32-bit pixels without their alpha, for `steps` values from low to high; `warp` bends the way there.
  table(steps, warp = (share) => share) {
    const out = new Uint32Array(steps), c = this.colours;
    for (let i = 0; i < steps; i++) {
      const k = 3 * Math.round(255 * warp(i / (steps - 1)));
      out[i] = c[k] | (c[k + 1] << 8) | (c[k + 2] << 16);
    }
    return out;
  }
}
