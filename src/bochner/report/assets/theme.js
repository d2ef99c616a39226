// Theme: colours of what stands around a map on its canvas, as the reader's system asks for; paper is always light.

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
export const DARK = window.matchMedia("(prefers-color-scheme: dark)");
export const theme = {};

function set(dark) {
  Object.assign(theme, dark
    ? { ink: "#e4ebef", faint: "#a9b8c2", paper: "#26333c", plate: "rgb(18 26 32 / 0.82)" }
    : { ink: "#24313b", faint: "#56646f", paper: "#e9edf0", plate: "rgb(255 255 255 / 0.82)" });
}
set(DARK.matches);
DARK.addEventListener("change", () => set(DARK.matches));

export function inLight(work) {
  set(false);
  try { work(); } finally { set(DARK.matches); }
}
