// The law at a pixel: eta is normal, and the mean of the response is a function of it.

export const LINKS = {
  identity: { mean: (eta) => eta, eta: (mu) => mu },
  log: { mean: (eta) => Math.exp(eta), eta: (mu) => Math.log(mu) },
  logit: { mean: (eta) => 1 / (1 + Math.exp(-eta)), eta: (mu) => Math.log(mu / (1 - mu)) },
  probit: { mean: (eta) => normalCdf(eta), eta: (mu) => normalQuantile(mu) },
};

// Phi(x) = 1/2 + phi(x) (x + x^3/3 + x^5/(3 5) + ...): all terms have one sign, so nothing cancels.
export function normalCdf(x) {
  if (!(Math.abs(x) < 7)) return x > 0 ? 1 : x < 0 ? 0 : NaN;
  let term = x, sum = x;
  for (let k = 3; Math.abs(term) > 1e-16 * Math.abs(sum); k += 2) {
    term *= (x * x) / k;
    sum += term;
  }
  return 0.5 + sum * Math.exp(-0.5 * x * x) * 0.3989422804014327;
}

function normalQuantile(p) {
  let low = -7, high = 7;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (normalCdf(middle) < p) low = middle; else high = middle;
  }
  return (low + high) / 2;
}

// Mean and sd of the response where eta has this mean and sd; closed forms where there are any.
export function responseMoments(link, mean, sd, nodes, mass) {
  if (link === "identity") return [mean, sd];
  if (link === "log") {
    const first = Math.exp(mean + 0.5 * sd * sd);
    return [first, first * Math.sqrt(Math.expm1(sd * sd))];
  }
  // about the median, so that little cancels
  const inverse = LINKS[link].mean, median = inverse(mean);
  let first = 0, second = 0;
  for (let k = 0; k < nodes.length; k++) {
    const off = inverse(mean + sd * nodes[k]) - median;
    first += mass[k] * off;
    second += mass[k] * off * off;
  }
  return [median + first, Math.sqrt(Math.max(second - first * first, 0))];
}

// A threshold on the scale of eta; below all means, or above them, where no mean is as low or as high.
function limitOf(link, threshold) {
  const limit = LINKS[link].eta(threshold);
  if (!Number.isNaN(limit)) return limit;
  return threshold <= 0 ? -Infinity : Infinity;
}

// Probability that the mean of the response lies above a threshold.
export function exceedance(link, mean, sd, threshold) {
  const limit = limitOf(link, threshold);
  if (sd > 0) return normalCdf((mean - limit) / sd);
  return mean > limit ? 1 : 0;
}

// Moments of the response over a table of (mean, sd) of eta, for the colours of many pixels: read by interpolation.
function momentTable(link, means, sds, nodes, mass) {
  const across = 320, down = 96;
  let low = Infinity, high = -Infinity, most = 0;
  for (let i = 0; i < means.length; i++) {
    if (means[i] < low) low = means[i];
    if (means[i] > high) high = means[i];
    if (sds[i] > most) most = sds[i];
  }
  const stepMean = (high - low) / (across - 1) || 1, stepSd = most / (down - 1) || 1;
  const first = new Float64Array(across * down), second = new Float64Array(across * down);
  for (let r = 0; r < down; r++) {
    for (let c = 0; c < across; c++) {
      [first[r * across + c], second[r * across + c]] = responseMoments(link, low + c * stepMean, r * stepSd, nodes, mass);
    }
  }
  const read = (table, x, y) => {
    const c = Math.min(Math.floor(x), across - 2), r = Math.min(Math.floor(y), down - 2), u = x - c, v = y - r, k = r * across + c;
    return (1 - v) * ((1 - u) * table[k] + u * table[k + 1]) + v * ((1 - u) * table[k + across] + u * table[k + across + 1]);
  };
  return (mean, sd) => {
    const x = (mean - low) / stepMean, y = sd / stepSd;
    return x === x ? [read(first, x, y), read(second, x, y)] : [NaN, NaN];
  };
}

export function everySecond(values, columns, rows) {
  const out = new Float32Array((columns >> 1) * (rows >> 1));
  for (let r = 0, i = 0; r < rows >> 1; r++) {
    for (let c = 0; c < columns >> 1; c++, i++) out[i] = values[2 * r * columns + 2 * c];
  }
  return out;
}

// Steps of the table of Phi: beyond six sd nothing changes to the eye.
const STEPS = 4096, REACH = 6;
const CDF = Float64Array.from({ length: STEPS }, (_, k) => normalCdf(((k + 0.5) / STEPS - 0.5) * 2 * REACH));

export class Law {
  constructor(data, mean, sd, cover) {
    Object.assign(this, { data, mean, sd, cover, link: data.link });
    this.responses = null;
    this.scores = null;
    this.quarter = null;
  }

  get length() {
    return this.mean.length;
  }

  // Whether a pixel is shown; around the map lies a rim that is not, for a smooth outline.
  shows(i) {
    return !Number.isNaN(this.mean[i]) && (!this.cover || this.cover[i] >= 0.5);
  }

  // Mean and sd of the response at one pixel, and its interval.
  at(i, threshold) {
    const { nodes, mass } = this.data;
    const [mean, sd] = responseMoments(this.link, this.mean[i], this.sd[i], nodes, mass);
    return { mean, sd, interval: this.interval(i), exceedance: exceedance(this.link, this.mean[i], this.sd[i], threshold) };
  }

  // The same at all pixels, for colours.
  get response() {
    if (!this.responses) {
      const { nodes, mass } = this.data, closed = this.link === "identity" || this.link === "log";
      const moments = closed
        ? (mean, sd) => responseMoments(this.link, mean, sd)
        : momentTable(this.link, this.mean, this.sd, nodes, mass);
      const means = new Float64Array(this.length), sds = new Float64Array(this.length);
      for (let i = 0; i < this.length; i++) [means[i], sds[i]] = moments(this.mean[i], this.sd[i]);
      this.responses = { mean: means, sd: sds };
    }
    return this.responses;
  }

  // The score (mean - limit) / sd is offset - (limit - middle) * slope: two numbers a pixel serve every threshold.
  get standard() {
    if (!this.scores) {
      const offset = new Float32Array(this.length), slope = new Float32Array(this.length);
      const known = this.mean.filter((v) => v === v), middle = known.length ? known[known.length >> 1] : 0;
      for (let i = 0; i < this.length; i++) {
        slope[i] = 1 / Math.max(this.sd[i], 1e-9);
        offset[i] = (this.mean[i] - middle) * slope[i];
      }
      this.scores = { offset, slope, middle, weight: this.areaOfPixels() };
    }
    return this.scores;
  }

  // A threshold as the scores know it.
  shift(threshold) {
    return limitOf(this.link, threshold) - this.standard.middle;
  }

  // Relative area of every pixel: the cosine of its latitude on a map in degrees, 0 where it is not shown.
  areaOfPixels() {
    const { rows, columns, geographic, extent: [, south, , north] } = this.data, weight = new Float32Array(this.length);
    for (let r = 0, i = 0; r < rows; r++) {
      const lat = north - ((r + 0.5) / rows) * (north - south);
      const area = geographic ? Math.cos((lat * Math.PI) / 180) : 1;
      for (let c = 0; c < columns; c++, i++) weight[i] = this.shows(i) ? area : 0;
    }
    return weight;
  }

  // Every second pixel of every second row of the scores: enough while a slider moves over a large map.
  get thinned() {
    if (!this.quarter) {
      const { rows, columns } = this.data, { offset, slope, weight } = this.standard;
      this.quarter = { columns: columns >> 1, rows: rows >> 1 };
      const pick = (values) => everySecond(values, columns, rows);
      Object.assign(this.quarter, { offset: pick(offset), slope: pick(slope), weight: pick(weight) });
    }
    return this.quarter;
  }

  // Shares of the mapped area: expected above the threshold, very likely above, very unlikely.
  shares(threshold, quick = false) {
    const { offset, slope, weight } = quick ? this.thinned : this.standard, shift = this.shift(threshold), sums = new Float64Array(STEPS);
    const scale = STEPS / (2 * REACH), half = STEPS / 2, last = STEPS - 1;
    for (let i = 0; i < offset.length; i++) {
      if (weight[i] === 0) continue;
      const k = (offset[i] - shift * slope[i]) * scale + half;
      sums[k > last ? last : k > 0 ? k | 0 : 0] += weight[i];
    }
    let total = 0, expected = 0, likely = 0, unlikely = 0;
    for (let k = 0; k < STEPS; k++) {
      total += sums[k];
      expected += sums[k] * CDF[k];
      if (CDF[k] > 0.9) likely += sums[k];
      if (CDF[k] < 0.1) unlikely += sums[k];
    }
    return { expected: expected / total, likely: likely / total, unlikely: unlikely / total };
  }

  interval(i) {
    const half = 1.959963984540054 * this.sd[i], inverse = LINKS[this.link].mean;
    return [inverse(this.mean[i] - half), inverse(this.mean[i] + half)];
  }
}
