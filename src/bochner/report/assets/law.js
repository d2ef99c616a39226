// The law at a pixel: eta is normal, and the mean of the response is a function of it.

const LINKS = {
  identity: { mean: (eta) => eta, eta: (mu) => mu },
  log: { mean: (eta) => Math.exp(eta), eta: (mu) => Math.log(mu) },
  logit: { mean: (eta) => 1 / (1 + Math.exp(-eta)), eta: (mu) => Math.log(mu / (1 - mu)) },
  probit: { mean: (eta) => normalCdf(eta), eta: (mu) => normalQuantile(mu) },
};

// Phi(x) = 1/2 + phi(x) (x + x^3/3 + x^5/(3 5) + ...): all terms have one sign, so nothing cancels.
function normalCdf(x) {
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
function responseMoments(link, mean, sd, nodes, mass) {
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

// Probability that the mean of the response lies above a threshold.
function exceedance(link, mean, sd, threshold) {
  const limit = LINKS[link].eta(threshold);
  if (Number.isNaN(limit)) return threshold <= 0 ? 1 : 0; // no mean is as low, or as high
  if (sd > 0) return normalCdf((mean - limit) / sd);
  return mean > limit ? 1 : 0;
}

class Law {
  constructor(data, mean, sd, cover) {
    Object.assign(this, { data, mean, sd, cover, link: data.link });
    this.responses = null;
  }

  // Whether a pixel is shown; around the map lies a rim that is not, for a smooth outline.
  shows(i) {
    return !Number.isNaN(this.mean[i]) && (!this.cover || this.cover[i] >= 0.5);
  }

  get length() {
    return this.mean.length;
  }

  get response() {
    if (!this.responses) {
      const { nodes, mass } = this.data;
      const means = new Float64Array(this.length), sds = new Float64Array(this.length);
      for (let i = 0; i < this.length; i++) {
        [means[i], sds[i]] = responseMoments(this.link, this.mean[i], this.sd[i], nodes, mass);
      }
      this.responses = { mean: means, sd: sds };
    }
    return this.responses;
  }

  exceedance(threshold) {
    const out = new Float64Array(this.length);
    for (let i = 0; i < this.length; i++) {
      out[i] = Number.isNaN(this.mean[i]) ? NaN : exceedance(this.link, this.mean[i], this.sd[i], threshold);
    }
    return out;
  }

  interval(i) {
    const half = 1.959963984540054 * this.sd[i], inverse = LINKS[this.link].mean;
    return [inverse(this.mean[i] - half), inverse(this.mean[i] + half)];
  }
}
