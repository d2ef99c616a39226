// Moves the slider of the studio's map once a frame; the times between frames, in ms.
() => new Promise((resolve) => {
  const { panel } = window.studio, frames = [];
  panel.map.canvas.scrollIntoView({ block: "center" });
  panel.choose("exceedance");
  let last = performance.now();
  const step = (now) => {
    frames.push(now - last);
    last = now;
    if (frames.length > 45) return resolve(frames);
    panel.setThreshold(0.1 + (0.8 * (frames.length % 40)) / 40);
    return requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})
