// GeoTIFF: the layers of the map as a file for a GIS, made here in the page.

import { exceedance, responseMoments } from "./law.js";

const SHORT = 3, ASCII = 2, LONG = 4, DOUBLE = 12;
const SIZES = { [SHORT]: 2, [ASCII]: 1, [LONG]: 4, [DOUBLE]: 8 };

// Mean, sd and the probability of exceeding the threshold, as three bands of 32-bit floats; blank pixels are NaN.
export function geotiff(data, law, threshold) {
  const { rows, columns, nodes, mass } = data, count = rows * columns;
  const bands = [0, 1, 2].map(() => new Float32Array(count).fill(NaN));
  for (let i = 0; i < count; i++) {
    if (!law.shows(i)) continue;
    const [mean, sd] = responseMoments(law.link, law.mean[i], law.sd[i], nodes, mass);
    bands[0][i] = mean;
    bands[1][i] = sd;
    bands[2][i] = exceedance(law.link, law.mean[i], law.sd[i], threshold);
  }
  return tiff(data, bands, ["mean", "sd", `exceedance_${Number(threshold.toPrecision(6))}`]);
}

function tiff(data, bands, names) {
  const { rows, columns, extent: [west, south, east, north] } = data, band = 4 * rows * columns;
  const items = names.map((name, k) => `<Item name="DESCRIPTION" sample="${k}" role="description">${name}</Item>`);
  const tags = [
    [256, LONG, [columns]], [257, LONG, [rows]], [258, SHORT, bands.map(() => 32)], [259, SHORT, [1]], [262, SHORT, [1]],
    [273, LONG, null], [277, SHORT, [bands.length]], [278, LONG, [rows]], [279, LONG, bands.map(() => band)], [284, SHORT, [2]],
    [338, SHORT, bands.slice(1).map(() => 0)], [339, SHORT, bands.map(() => 3)],
    [33550, DOUBLE, [(east - west) / columns, (north - south) / rows, 0]], [33922, DOUBLE, [0, 0, 0, west, north, 0]],
    ...(data.epsg ? [[34735, SHORT, geokeys(data)]] : []),
    [42112, ASCII, text(`<GDALMetadata>${items.join("")}</GDALMetadata>`)], [42113, ASCII, text("nan")],
  ];
  // the directory, then values that do not fit into it, then the bands
  let end = 8 + 2 + 12 * tags.length + 4;
  const places = tags.map(([tag, kind, values]) => {
    const size = SIZES[kind] * (tag === 273 ? bands.length : values.length), at = end;
    if (size > 4) end += size + (size % 2);
    return size > 4 ? at : null;
  });
  end += (4 - (end % 4)) % 4;
  tags.find(([tag]) => tag === 273)[2] = bands.map((_, k) => end + k * band);
  const file = new DataView(new ArrayBuffer(end + bands.length * band));
  file.setUint16(0, 0x4949); // little-endian
  file.setUint16(2, 42, true);
  file.setUint32(4, 8, true);
  file.setUint16(8, tags.length, true);
  tags.forEach(([tag, kind, values], k) => {
    const entry = 10 + 12 * k;
    file.setUint16(entry, tag, true);
    file.setUint16(entry + 2, kind, true);
    file.setUint32(entry + 4, values.length, true);
    if (places[k] !== null) file.setUint32(entry + 8, places[k], true);
    values.forEach((value, j) => put(file, (places[k] ?? entry + 8) + SIZES[kind] * j, kind, value));
  });
  bands.forEach((values, k) => values.forEach((value, i) => file.setFloat32(end + k * band + 4 * i, value, true)));
  return new Blob([file], { type: "image/tiff" });
}

function put(file, at, kind, value) {
  if (kind === SHORT) file.setUint16(at, value, true);
  else if (kind === LONG) file.setUint32(at, value, true);
  else if (kind === DOUBLE) file.setFloat64(at, value, true);
  else file.setUint8(at, value);
}

// Raster pixels are areas; the CRS by its code, geographic or projected.
function geokeys({ epsg: { code, geographic } }) {
  const keys = [[1024, geographic ? 2 : 1], [1025, 1], [geographic ? 2048 : 3072, code]];
  return [1, 1, 0, keys.length, ...keys.flatMap(([key, value]) => [key, 0, 1, value])];
}

const text = (value) => [...new TextEncoder().encode(value), 0];
