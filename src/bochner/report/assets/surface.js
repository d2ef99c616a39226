// The surface: a raster made as fine as a screen, once; painting it again is one pass over a table of colours.

// At least so many pixels along the longer side: values and outline are interpolated between the centres of coarser ones.
const FINE = 700;

export class Surface {
  constructor(columns, rows, values, cover, fine = Math.max(1, Math.min(4, Math.round(FINE / Math.max(columns, rows))))) {
    Object.assign(this, { columns, rows, fine });
    this.width = this.fine * columns;
    this.height = this.fine * rows;
    this.across = neighbours(columns, this.fine);
    this.down = neighbours(rows, this.fine);
    this.alpha = this.outline(values, cover);
  }

  // For every fine pixel, `each(pixel, the four coarse ones around it, their weights)`.
  forEach(each) {
    const { across, down, columns } = this, around = new Int32Array(4), weights = new Float64Array(4);
    for (let r = 0, at = 0; r < this.height; r++) {
      const top = down.first[r] * columns, low = down.second[r] * columns, v = down.share[r];
      for (let c = 0; c < this.width; c++, at++) {
        const i = across.first[c], j = across.second[c], u = across.share[c];
        around[0] = top + i; around[1] = top + j; around[2] = low + i; around[3] = low + j;
        weights[0] = (1 - u) * (1 - v); weights[1] = u * (1 - v); weights[2] = (1 - u) * v; weights[3] = u * v;
        each(at, around, weights);
      }
    }
  }

  // How much of a pixel is shown, as the upper byte of its colour: the outline runs where the cover passes one half.
  outline(values, cover) {
    const alpha = new Uint32Array(this.width * this.height);
    this.forEach((at, around, weights) => {
      let weight = 0, inside = 0;
      for (let k = 0; k < 4; k++) {
        if (cover) inside += weights[k] * cover[around[k]];
        if (values[around[k]] === values[around[k]]) weight += weights[k]; // not NaN
      }
      const edge = (cover ? inside : weight) - 0.5;
      if (weight >= 0.05 && edge >= -0.02) alpha[at] = Math.round(255 * Math.min(1, (edge + 0.02) / 0.04)) << 24;
    });
    return alpha;
  }

  // A raster at the fine pixels.
  refine(values) {
    if (this.fine === 1) return Float32Array.from(values);
    const out = new Float32Array(this.width * this.height);
    this.forEach((at, around, weights) => {
      let sum = 0, weight = 0;
      for (let k = 0; k < 4; k++) {
        const value = values[around[k]];
        if (value === value) {
          sum += weights[k] * value;
          weight += weights[k];
        }
      }
      out[at] = sum / weight;
    });
    return out;
  }

  blank() {
    const canvas = document.createElement("canvas");
    canvas.width = this.width;
    canvas.height = this.height;
    return canvas;
  }

  // Colours of fine values between low and high, onto a canvas.
  paint(canvas, fine, low, high, table) {
    this.write(canvas, (pixels) => {
      const { alpha } = this, last = table.length - 1, scale = last / (high - low);
      for (let i = 0; i < fine.length; i++) {
        const k = (fine[i] - low) * scale + 0.5;
        pixels[i] = alpha[i] && (alpha[i] | table[k > last ? last : k > 0 ? k | 0 : 0]);
      }
    });
  }

  // Colours of offset - shift * slope between -reach and reach: the score of a threshold, without an array of its own.
  paintScore(canvas, offset, slope, shift, reach, table) {
    this.write(canvas, (pixels) => {
      const { alpha } = this, last = table.length - 1, scale = last / (2 * reach), half = last / 2 + 0.5;
      for (let i = 0; i < offset.length; i++) {
        const k = (offset[i] - shift * slope[i]) * scale + half;
        pixels[i] = alpha[i] && (alpha[i] | table[k > last ? last : k > 0 ? k | 0 : 0]);
      }
    });
  }

  write(canvas, fill) {
    this.image ??= new ImageData(this.width, this.height);
    fill(new Uint32Array(this.image.data.buffer));
    canvas.getContext("2d").putImageData(this.image, 0, 0);
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
