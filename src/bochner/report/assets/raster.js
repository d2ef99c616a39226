// Rasters: from base64, deflate and differences back to numbers; a blank pixel is NaN.

const BLANK = 65535;

export async function unpack(packed, count) {
  const squeezed = Uint8Array.from(atob(packed.data), (c) => c.charCodeAt(0));
  const stream = new Blob([squeezed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const values = new Float64Array(count);
  let code = 0;
  for (let i = 0; i < count; i++) {
    code = (code + planes[i] + 256 * planes[count + i]) & 0xffff;
    values[i] = code === BLANK ? NaN : packed.low + packed.step * code;
  }
  return values;
}
